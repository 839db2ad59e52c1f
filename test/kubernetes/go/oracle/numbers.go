package main

import (
	"bytes"
	gojson "encoding/json"
	"fmt"

	"sigs.k8s.io/json"
)

const (
	// Quantities reckon with the digits of a longer number, or with what a larger exponent means, for minutes or for ever.
	longestNumber   = 100
	longestExponent = 3
)

var numberRule = fmt.Sprintf("a number may have %d digits at most, and its exponent %d", longestNumber, longestExponent)

// hasHugeNumber tells whether anything in a text is huge, should it be meant as a number.
func hasHugeNumber(text []byte) bool {
	digits, most := 0, longestNumber
	for at, each := range text {
		switch {
		case '0' <= each && each <= '9' || each == '.':
			if digits++; digits > most {
				return true
			}
		case (each == 'e' || each == 'E') && digits > 0:
			digits, most = 0, longestExponent
		case (each == '+' || each == '-') && at > 0 && (text[at-1] == 'e' || text[at-1] == 'E'):
		default:
			digits, most = 0, longestNumber
		}
	}
	return false
}

// checkNumbers refuses a line with a huge number where Kubernetes reads one; names, labels and other texts may look as they like. It is not for those who read numbers to find
// out, so in a copy of the line words stand where the huge ones are: where these cannot be read, the place is for numbers.
func checkNumbers(line []byte) error {
	harmless, huge := withoutHuge(line)
	err := json.UnmarshalCaseSensitivePreserveInts(harmless, &question{})
	if err == nil {
		return nil
	}
	var whole any
	if len(line) > longestSearched || json.UnmarshalCaseSensitivePreserveInts(harmless, &whole) != nil {
		return fmt.Errorf("the line is %s: it must be one JSON object, and a case, and %s: %w", excerpt(line), numberRule, err)
	}
	path, value, told := culprit(whole, func(alone any) any { return alone })
	if told == nil {
		// What stands there twice is not seen where it is looked for.
		told = fmt.Errorf("%w; %s", err, numberRule)
	}
	if word, isText := value.(string); isText {
		if number, isHuge := huge[word]; isHuge {
			return refused(path, gojson.RawMessage(number), numberRule)
		}
	}
	return refused(path, value, told.Error())
}

// withoutHuge gives the line with a word in the place of each value that is huge as a number, and which one it stands for. It is the line itself that is changed, and not what was
// read from it, so that what stands there twice is not lost.
func withoutHuge(line []byte) ([]byte, map[string][]byte) {
	harmless, huge := make([]byte, 0, len(line)), map[string][]byte{}
	for at := 0; at < len(line); {
		token := tokenAt(line[at:])
		at += len(token)
		isKey := token[0] == '"' && bytes.HasPrefix(bytes.TrimLeft(line[at:], " \t\r"), []byte(":"))
		if isKey || !hasHugeNumber(token) {
			harmless = append(harmless, token...)
			continue
		}
		word := fmt.Sprintf("no number, but value %d", len(huge))
		huge[word] = token
		harmless = append(append(append(harmless, '"'), word...), '"')
	}
	return harmless, huge
}

// tokenAt is the text or the number that a part of a line begins with, or else one byte.
func tokenAt(line []byte) []byte {
	if line[0] == '"' {
		for at := 1; at < len(line); at++ {
			switch line[at] {
			case '\\':
				at++
			case '"':
				return line[:at+1]
			}
		}
		return line
	}
	end := 1
	if isInNumber(line[0]) {
		for end < len(line) && isInNumber(line[end]) {
			end++
		}
	}
	return line[:end]
}

func isInNumber(each byte) bool {
	return '0' <= each && each <= '9' || bytes.IndexByte([]byte("+-.eE"), each) >= 0
}
