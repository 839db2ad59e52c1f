package main

import (
	"bytes"
	gojson "encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/json"
)

const (
	longestID    = 100
	longestValue = 100
	// In a longer line it is not searched for the value that cannot be read: it would be read again for each.
	longestSearched = 64 << 10
)

type question struct {
	ID       gojson.RawMessage `json:"id"`
	Schedule *scheduleCase     `json:"schedule"`
	Evict    *evictCase        `json:"evict"`
	Merge    *mergeCase        `json:"merge"`
	Gang     *gangCase         `json:"gang"`
}

// read gives the case in a line, checked as far as Kubernetes' code relies on it; with an error at least the id, when it can be read.
func read(line []byte) (question, error) {
	var asked question
	err := decode(line, &asked)
	if err != nil {
		var known struct{ ID gojson.RawMessage }
		if gojson.Unmarshal(line, &known) != nil {
			known.ID = nil
		}
		asked = question{ID: known.ID}
	}
	if bad := checkID(asked.ID); bad != nil {
		return question{}, errors.Join(err, bad)
	}
	if err == nil {
		err = asked.check()
	}
	return asked, err
}

func checkID(id gojson.RawMessage) error {
	if id == nil {
		return nil
	}
	_, notWhole := strconv.ParseInt(string(id), 10, 64)
	if len(id) > longestID || id[0] != '"' && notWhole != nil {
		return refused("id", id, fmt.Sprintf("it must be a string or a whole number, of %d bytes at most", longestID))
	}
	return nil
}

func (asked question) check() error {
	given := 0
	for _, isGiven := range []bool{asked.Schedule != nil, asked.Evict != nil, asked.Merge != nil, asked.Gang != nil} {
		if isGiven {
			given++
		}
	}
	switch {
	case given != 1:
		return fmt.Errorf("the line has %d cases: it must have one of schedule, evict, merge, gang", given)
	case asked.Schedule != nil:
		return asked.Schedule.check()
	case asked.Evict != nil:
		return asked.Evict.check()
	case asked.Gang != nil:
		return asked.Gang.check()
	}
	return asked.Merge.check()
}

// decode takes nothing that it does not know: a field that is misspelt would be a case other than the one that was meant.
func decode(line []byte, asked *question) error {
	if hasHugeNumber(line) {
		if err := checkNumbers(line); err != nil {
			return err
		}
	}
	unknown, err := json.UnmarshalStrict(line, asked)
	if err == nil && len(unknown) == 0 {
		return nil
	}
	if err == nil {
		return fmt.Errorf("the line has what no case has: %w", errors.Join(unknown...))
	}
	var whole any
	if len(line) > longestSearched || json.UnmarshalCaseSensitivePreserveInts(line, &whole) != nil {
		return fmt.Errorf("the line is %s: it must be one JSON object, and a case: %w", excerpt(line), err)
	}
	path, value, told := culprit(whole, func(alone any) any { return alone })
	if told == nil {
		told = err
	}
	return refused(path, value, told.Error())
}

// childrenOf are the values in an object or a list, by how they are named after it.
func childrenOf(value any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		switch typed := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(typed)) {
				if !yield("."+key, typed[key]) {
					return
				}
			}
		case []any:
			for index, child := range typed {
				if !yield(fmt.Sprintf("[%d]", index), child) {
					return
				}
			}
		}
	}
}

// culprit finds the innermost value that cannot be read even if it stands there alone, where it stands, and what is said of it. The errors of those who read a value
// of their own, such as a quantity, name neither.
func culprit(value any, around func(any) any) (string, any, error) {
	told := unreadable(around(value))
	if told == nil {
		return "", value, nil
	}
	// Where not even an empty one can be, it is not for what is in it.
	alone := func(inner any) any { return around([]any{inner}) }
	empty := any([]any{})
	if _, isObject := value.(map[string]any); isObject {
		empty = map[string]any{}
	}
	if unreadable(around(empty)) != nil {
		return "", value, told
	}
	for name, child := range childrenOf(value) {
		if key, isKey := strings.CutPrefix(name, "."); isKey {
			alone = func(inner any) any { return around(map[string]any{key: inner}) }
		}
		if path, inner, why := culprit(child, alone); why != nil {
			return name + path, inner, why
		}
	}
	return "", value, told
}

func unreadable(value any) error {
	line, err := gojson.Marshal(value)
	if err != nil {
		return err
	}
	_, err = json.UnmarshalStrict(line, &question{})
	return err
}

// refused is the error of a field that has the wrong value.
func refused(field string, value any, rule string) error {
	line, err := gojson.Marshal(value)
	if err != nil {
		line = []byte(err.Error())
	}
	field = strings.TrimPrefix(field, ".")
	if field == "" {
		field = "the line"
	}
	return fmt.Errorf("%s is %s: %s", field, excerpt(line), rule)
}

func excerpt(line []byte) string {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return "empty"
	}
	if len(line) > longestValue {
		return strings.ToValidUTF8(string(line[:longestValue]), "") + "…"
	}
	return strings.ToValidUTF8(string(line), "?")
}
