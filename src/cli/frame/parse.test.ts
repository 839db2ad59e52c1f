import fc from 'fast-check';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { type Bytes, parseBytes } from '../../core/bytes.ts';
import { HoldfastError } from '../../core/errors.ts';
import type { OptionTable } from './command.ts';
import { checkOperands, indexOfFirstOperand, parseCommandLine } from './parse.ts';

const TABLE = {
  deep: { kind: 'flag', description: 'Read everything' },
  quiet: { kind: 'flag', short: 'q', description: 'Say little' },
  require: { kind: 'choice', choices: ['resumable', 'weights'], description: 'What is enough' },
  bytes: { kind: 'value', value: 'SIZE', parse: parseBytes, default: '1MiB', description: 'How much' },
  line: { kind: 'value', value: 'SIZE', parse: parseBytes, description: 'Where' },
  progress: { kind: 'choice', choices: ['auto', 'json', 'none'], default: 'auto', description: 'How progress is told' },
} as const satisfies OptionTable;

const failure = (args: readonly string[]): string => {
  try {
    parseCommandLine(args, TABLE);
  } catch (thrown) {
    if (thrown instanceof HoldfastError && thrown.code === 'USAGE') return thrown.message;
    throw thrown;
  }
  return 'no error';
};

describe('parseCommandLine', () => {
  it('gives every option a value: false, its default, or null', () => {
    expect(parseCommandLine([], TABLE)).toEqual({
      values: { deep: false, quiet: false, require: null, bytes: 2 ** 20, line: null, progress: 'auto' },
      operands: [],
    });
  });

  it('reads options and operands in any order, and everything after -- as operands', () => {
    expect(parseCommandLine(['a', '-q', '--require', 'weights', 'b', '--line', '1GiB', '--progress=json', '--', '--deep'], TABLE)).toEqual({
      values: { deep: false, quiet: true, require: 'weights', bytes: 2 ** 20, line: 2 ** 30, progress: 'json' },
      operands: ['a', 'b', '--deep'],
    });
  });

  it('types each value by its option', () => {
    const { values } = parseCommandLine([], TABLE);
    expectTypeOf(values.deep).toEqualTypeOf<boolean>();
    expectTypeOf(values.require).toEqualTypeOf<'resumable' | 'weights' | null>();
    expectTypeOf(values.bytes).toEqualTypeOf<Bytes>();
    expectTypeOf(values.line).toEqualTypeOf<Bytes | null>();
    expectTypeOf(values.progress).toEqualTypeOf<'auto' | 'json' | 'none'>();
  });

  it.each([
    [['--depe'], 'unknown option --depe. Did you mean --deep?'],
    [['--zzz'], 'unknown option --zzz'],
    [['-x'], 'unknown option -x'],
    [['--deep=yes'], 'option --deep takes no value, but got "yes"'],
    [['--require'], 'option --require needs a value: resumable, weights'],
    [['--require', '--deep'], 'option --require needs a value: resumable, weights'],
    [['--require=resumeable'], 'option --require is one of resumable, weights, not "resumeable". Did you mean resumable?'],
    [['--progress', 'fast'], 'option --progress is one of auto, json, none, not "fast".'],
    [['--bytes'], 'option --bytes needs a value: SIZE'],
    [['--bytes', '--deep'], 'option --bytes needs a value: SIZE'],
    [['--bytes=7'], expect.stringMatching(/^option --bytes: "7" has no unit: /)],
    [['--toString'], 'unknown option --toString'],
    [['--__proto__'], 'unknown option --__proto__'],
    [['--\u001b[31m'], 'unknown option --\\x1b[31m'],
  ])('names the mistake in %j', (args, message) => {
    expect(failure(args)).toEqual(message);
  });

  it('gives values or a USAGE error for any arguments, and nothing else', () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom('--', '-', '--deep', '-q', '--require', 'resumable', '--bytes', '1MiB', '-qq', '--no-deep', '--='),
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), (args) => {
        expect(failure(args)).toEqual(expect.any(String));
      }),
      { numRuns: 500 },
    );
  });
});

describe('indexOfFirstOperand', () => {
  it('is not misled by the value of an option', () => {
    expect(indexOfFirstOperand(['--progress', 'json', 'verify', 'x'], TABLE)).toBe(2);
    expect(indexOfFirstOperand(['-q', '--deep'], TABLE)).toBe(-1);
  });
});

describe('checkOperands', () => {
  const operand = { name: 'CODE', description: 'the code', complete: 'paths' } as const;
  it.each([
    ['none where none is taken', [], null, true],
    ['one where none is taken', ['a'], null, false],
    ['none where one is needed', [], 'one', false],
    ['one where one is needed', ['a'], 'one', true],
    ['two where one is needed', ['a', 'b'], 'one', false],
    ['none where one may be', [], 'optional', true],
    ['two where two are needed', ['a', 'b'], 'two', true],
    ['three where two are needed', ['a', 'b', 'c'], 'two', false],
    ['none where many are needed', [], 'many', false],
    ['three where many are taken', ['a', 'b', 'c'], 'many', true],
  ] as const)('%s', (_, operands, count, fine) => {
    const check = (): void => checkOperands(operands, count === null ? null : { ...operand, count });
    if (fine) expect(check).not.toThrow();
    else expect(check).toThrow(HoldfastError);
  });
});
