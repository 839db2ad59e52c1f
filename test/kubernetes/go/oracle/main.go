// Command oracle answers with the verdicts of Kubernetes' own code, without a cluster: one case per line of standard input, one answer per line of
// standard output, both JSON, in the same order.
//
//	{"schedule": {"pod": …, "nodes": […], "pods": […], "budgets": […]}}      filters, scores and default preemption of the scheduler
//	{"evict": {"signal": "memory", "pods": […], "stats": {…}}}                the order in which a kubelet under pressure evicts
//	{"merge": {"kind": …, "steps": […]}}                                      server-side apply, step by step
//
// A case that cannot be read or judged is answered with {"error": …}.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

const longestLine = 16 << 20

type question struct {
	Schedule *scheduleCase `json:"schedule"`
	Evict    *evictCase    `json:"evict"`
	Merge    *mergeCase    `json:"merge"`
}

type failure struct {
	Error string `json:"error"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	scheduler, err := newScheduler()
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 0, 1<<16), longestLine)
	answers := bufio.NewWriter(os.Stdout)
	writer := json.NewEncoder(answers)
	for lines.Scan() {
		if err := writer.Encode(answer(scheduler, lines.Bytes())); err != nil {
			return err
		}
		// Whoever asks one by one waits for each.
		if err := answers.Flush(); err != nil {
			return err
		}
	}
	return lines.Err()
}

func answer(scheduler *scheduler, line []byte) (found any) {
	defer func() {
		if panicked := recover(); panicked != nil {
			found = failure{fmt.Sprint(panicked)}
		}
	}()
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return failure{err.Error()}
	}
	verdict, err := judge(scheduler, asked)
	if err != nil {
		return failure{err.Error()}
	}
	return verdict
}

func judge(scheduler *scheduler, asked question) (any, error) {
	switch {
	case asked.Schedule != nil:
		return scheduler.judge(asked.Schedule)
	case asked.Evict != nil:
		return rank(asked.Evict)
	case asked.Merge != nil:
		return merge(asked.Merge)
	}
	return nil, errors.New("a case is one of schedule, evict, merge")
}
