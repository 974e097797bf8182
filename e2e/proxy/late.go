package proxy

import (
	"io"
	"sync"
	"time"
)

// late passes data on after a delay, in order.
type late struct {
	body   io.ReadCloser
	by     time.Duration
	chunks chan chunk
	closed chan struct{}
	close  sync.Once
	rest   []byte
}

type chunk struct {
	due  time.Time
	data []byte
}

// chunksHeld is the number of chunks that are held. Further data waits in the connection.
const chunksHeld = 10_000

func newLate(body io.ReadCloser, by time.Duration) *late {
	l := &late{body: body, by: by, chunks: make(chan chunk, chunksHeld), closed: make(chan struct{})}
	go l.read()
	return l
}

func (l *late) read() {
	defer close(l.chunks)
	for {
		data := make([]byte, 32<<10)
		n, err := l.body.Read(data)
		if n > 0 {
			select {
			case l.chunks <- chunk{time.Now().Add(l.by), data[:n]}:
			case <-l.closed:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (l *late) Read(b []byte) (int, error) {
	if len(l.rest) == 0 {
		next, ok := <-l.chunks
		if !ok {
			return 0, io.EOF
		}
		select {
		case <-time.After(time.Until(next.due)):
		case <-l.closed:
			return 0, io.ErrClosedPipe
		}
		l.rest = next.data
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (l *late) Close() error {
	l.close.Do(func() { close(l.closed) })
	return l.body.Close()
}
