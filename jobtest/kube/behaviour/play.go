package behaviour

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// Player runs rows on a server.
type Player struct {
	// Config is the config of a client with all permissions.
	Config *rest.Config
	// Settle is called before a request is repeated that waits for its recorded answer,
	// with the time of the first try. It reports whether to try again.
	Settle func(since time.Time) bool
}

// Play runs a row in a new namespace and returns the answers, one for each step.
func (p Player) Play(ctx context.Context, row Row, namespace string) ([]string, error) {
	client, err := rest.HTTPClientFor(p.Config)
	if err != nil {
		return nil, err
	}
	t := &stage{client: client, host: strings.TrimSuffix(p.Config.Host, "/"), namespace: namespace,
		names: &names{namespace: namespace, objects: map[string]*seen{}, generatedNames: map[string]string{}}}
	body := fmt.Sprintf(`{"metadata":{"name":%q}}`, namespace)
	if code, text, err := t.send(ctx, Step{Method: "POST", Path: "/api/v1/namespaces",
		Body: body}); err != nil || code != http.StatusCreated {
		return nil, fmt.Errorf("creating the namespace %s: %d %s %w", namespace, code, text, err)
	}
	var answers []string
	for _, step := range row.Steps {
		since := time.Now()
		got, err := t.play(ctx, step)
		if err != nil {
			return answers, err
		}
		for step.Eventually && got != step.Want && p.Settle(since) {
			if got, err = t.play(ctx, step); err != nil {
				return answers, err
			}
		}
		answers = append(answers, got)
	}
	return answers, nil
}

type stage struct {
	client          *http.Client
	host, namespace string
	names           *names
}

func (t *stage) play(ctx context.Context, step Step) (string, error) {
	code, text, err := t.send(ctx, step)
	if err != nil {
		return "", err
	}
	shown, err := t.names.render(text, step.Show, time.Now())
	if err != nil {
		return "", fmt.Errorf("the answer to %s %s: %w\n%s", step.Method, step.Path, err, text)
	}
	shown = strings.ReplaceAll(shown, "\n\n", "\n") // an empty line ends a step
	return strings.TrimSpace(fmt.Sprintf("%d %s\n%s", code, http.StatusText(code), shown)), nil
}

// send sends a request and reads its answer, that of a watch to its end.
func (t *stage) send(ctx context.Context, step Step) (int, []byte, error) {
	path, err := t.names.fill(step.Path)
	if err != nil {
		return 0, nil, err
	}
	body, err := t.names.fill(step.Body)
	if err != nil {
		return 0, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, step.Method, t.host+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Accept", "application/json")
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, h := range step.Header {
		request.Header.Set(h[0], h[1])
	}
	response, err := t.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, text, err
}
