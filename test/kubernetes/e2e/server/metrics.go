package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Loopback returns a new loopback address to serve on. Connections begin at 127.0.0.1, so ports of other addresses
// are never taken.
func Loopback() string {
	return fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
}

// serving adds the flags with which a controller serves metrics at ADDRESS:8080, if requested.
func (o Options) serving(scheme string, flags ...string) Options {
	if !o.Metrics {
		return o
	}
	address := Loopback()
	for _, flag := range flags {
		o.Args = append(slices.Clip(o.Args), strings.ReplaceAll(flag, "ADDRESS", address))
	}
	o.metrics = scheme + "://" + address + ":8080/metrics"
	return o
}

// Metrics returns the metrics of a controller that was started with the option Metrics, by name and labels. It waits
// until a controller that was just started has some.
func (c *Controller) Metrics(ctx context.Context) (map[string]float64, error) {
	text, err := c.scrape(ctx)
	for late := time.After(startTime); errors.Is(err, unix.ECONNREFUSED) && c.Err() == nil; text, err = c.scrape(ctx) {
		select {
		case <-time.After(pollTime):
		case <-late:
			return nil, err
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the metrics of %s: %w", c.Name, err)
	}
	all, err := ParseMetrics(text)
	if err != nil {
		return nil, fmt.Errorf("the metrics of %s: %w", c.Name, err)
	}
	return all, nil
}

// ParseMetrics reads lines of "name{labels} number".
func ParseMetrics(text string) (map[string]float64, error) {
	all := map[string]float64{}
	for line := range strings.Lines(text) {
		metric := strings.TrimSpace(line)
		if metric == "" || strings.HasPrefix(metric, "#") {
			continue
		}
		space := strings.LastIndex(metric, " ") + 1
		value, err := strconv.ParseFloat(metric[space:], 64)
		if err != nil || space == 0 {
			return nil, fmt.Errorf("no value in %q", line)
		}
		all[metric[:space-1]] = value
	}
	return all, nil
}

func (c *Controller) scrape(ctx context.Context) (text string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.metrics, nil)
	if err != nil {
		return "", err
	}
	// kube-controller-manager generates its own certificate.
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, body)
	}
	return string(body), err
}
