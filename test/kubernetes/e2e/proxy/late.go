package proxy

import (
	"io"
	"time"
)

// chunk is data that is passed on later.
type chunk struct {
	due  time.Time
	data []byte
}

// chunksHeld is the number of chunks that are held. Further data waits in the connection.
const chunksHeld = 10_000

// late passes data on after a delay, in order.
func late(body io.ReadCloser, by time.Duration) io.ReadCloser {
	out, in := io.Pipe()
	held, closed := make(chan chunk, chunksHeld), make(chan struct{})
	go func() {
		defer close(held)
		for {
			data := make([]byte, 32<<10)
			n, err := body.Read(data)
			select {
			case held <- chunk{time.Now().Add(by), data[:n]}:
			case <-closed:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		defer body.Close()
		defer close(closed)
		for c := range held {
			time.Sleep(time.Until(c.due))
			if _, err := in.Write(c.data); err != nil {
				return // the reader has closed the pipe
			}
		}
		in.Close()
	}()
	return out
}
