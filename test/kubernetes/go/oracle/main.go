// Command oracle answers with the verdicts of Kubernetes' own code, without a cluster: one case per line of standard input, one answer per line of
// standard output, both JSON, in the same order.
//
//	{"schedule": {"pod": …, "nodes": […], "pods": […], "nominated": […], "budgets": […]}}   filters, scores and default preemption of the scheduler
//	{"evict": {"signal": "memory.available", "imageFs": …, "pods": […], "stats": {…}}}      the order in which a kubelet under pressure evicts
//	{"gang": {"group": …, "members": […], "groups": […], "nodes": […], "pods": […], "budgets": […]}}   where members of a PodGroup go, and their preemption
//	{"merge": {"apiVersion": …, "kind": …, "steps": […]}}                                   server-side apply, step by step
//
// The words of the command line are feature gates that are turned on. Beside the case there may be an "id", a string or a whole number, which comes back with its answer. Whatever stands in a line, it gets one answer: where it cannot be
// read or judged {"error": …}, with the field, its value and the rule, and the next line is answered as ever.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
)

const longestLine = 16 << 20

// reply is a verdict, or why there is none.
type reply struct {
	ID    json.RawMessage `json:"id,omitempty"`
	Error string          `json:"error,omitempty"`
	*scheduleVerdict
	*evictVerdict
	*mergeVerdict
	*gangVerdict
}

func main() {
	if err := start(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// start turns the feature gates on that are named, and answers.
func start(gates []string) error {
	for _, gate := range gates {
		if err := utilfeature.DefaultMutableFeatureGate.Set(gate + "=true"); err != nil {
			return err
		}
	}
	return run(os.Stdin, os.Stdout)
}

func run(input io.Reader, output io.Writer) error {
	// What the code logs about a strange case is in its verdict, too.
	klog.SetLogger(logr.Discard())
	scheduler, err := newScheduler()
	if err != nil {
		return err
	}
	lines, answers := bufio.NewReaderSize(input, 1<<16), bufio.NewWriter(output)
	writer := json.NewEncoder(answers)
	for {
		line, length, err := readLine(lines)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		found := reply{Error: fmt.Sprintf("the line has %d bytes: it may have %d at most", length, longestLine)}
		if length <= longestLine {
			found = answer(scheduler, line)
		}
		if err := writer.Encode(found); err != nil {
			return err
		}
		// Whoever asks one by one waits for each.
		if err := answers.Flush(); err != nil {
			return err
		}
	}
}

// readLine gives the next line and its length; of one that is too long only the length.
func readLine(lines *bufio.Reader) (line []byte, length int, err error) {
	for {
		part, err := lines.ReadSlice('\n')
		if length += len(part); length <= longestLine {
			line = append(line, part...)
		} else {
			line = nil
		}
		switch {
		case err == bufio.ErrBufferFull:
		case err == io.EOF && length > 0:
			return line, length, nil
		default:
			return line, length, err
		}
	}
}

func answer(scheduler *scheduler, line []byte) (found reply) {
	asked, err := read(line)
	found.ID = asked.ID
	if err == nil {
		err = guarded(func() error { return judge(scheduler, asked, &found) })
	}
	if err != nil {
		return reply{ID: asked.ID, Error: err.Error()}
	}
	return found
}

func judge(scheduler *scheduler, asked question, found *reply) (err error) {
	switch {
	case asked.Schedule != nil:
		found.scheduleVerdict, err = scheduler.judge(asked.Schedule)
	case asked.Evict != nil:
		found.evictVerdict, err = rank(asked.Evict)
	case asked.Gang != nil:
		found.gangVerdict, err = scheduler.judgeGang(asked.Gang)
	default:
		found.mergeVerdict, err = merge(asked.Merge)
	}
	return err
}

// guarded turns a panic of the code that is asked into an error, also one in a goroutine of its own: those end there, and are told of.
func guarded(judge func() error) (err error) {
	var elsewhere atomic.Value
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, panicked any) { elsewhere.Store(panicTold(panicked)) }}
	defer func() {
		if panicked := recover(); panicked != nil {
			err = panicTold(panicked)
		} else if told, isTold := elsewhere.Load().(error); isTold {
			err = told
		}
	}()
	return judge()
}

func panicTold(panicked any) error {
	return fmt.Errorf("the code that was asked panicked: %v", panicked)
}
