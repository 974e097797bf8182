package controller

import "github.com/go-logr/logr"

// quietSink is a log sink that logs a failed sync as an error only if an operator may have to act.
type quietSink struct{ logr.LogSink }

func quietly(log logr.Logger) logr.Logger {
	if log.IsZero() {
		return log
	}
	return log.WithSink(quietSink{log.GetSink()})
}

func (q quietSink) Error(err error, message string, keysAndValues ...any) {
	level := 0
	switch {
	case expected(err):
		level, message = 1, "Retrying"
	case permanent(err):
		message = "Cannot decide"
	default:
		q.LogSink.Error(err, message, keysAndValues...)
		return
	}
	if q.Enabled(level) {
		q.Info(level, message, append(keysAndValues[:len(keysAndValues):len(keysAndValues)], "because", err)...)
	}
}

func (q quietSink) WithValues(keysAndValues ...any) logr.LogSink {
	return quietSink{q.LogSink.WithValues(keysAndValues...)}
}

func (q quietSink) WithName(name string) logr.LogSink { return quietSink{q.LogSink.WithName(name)} }
