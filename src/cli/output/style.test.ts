import { describe, expect, it } from 'vitest';
import { createStyle, wantsColor } from './style.ts';

const TTY = { isTTY: true };
const PIPE = {};

describe('wantsColor', () => {
  it.each([
    ['a terminal', TTY, {}, false, true],
    ['a pipe', PIPE, {}, false, false],
    ['a terminal and --no-color', TTY, {}, true, false],
    ['--no-color and FORCE_COLOR', TTY, { FORCE_COLOR: '1' }, true, false],
    ['a terminal and NO_COLOR', TTY, { NO_COLOR: '1' }, false, false],
    ['a terminal and an empty NO_COLOR', TTY, { NO_COLOR: '' }, false, true],
    ['a pipe and FORCE_COLOR', PIPE, { FORCE_COLOR: '1' }, false, true],
    ['a pipe and FORCE_COLOR without a value', PIPE, { FORCE_COLOR: '' }, false, true],
    ['FORCE_COLOR and NO_COLOR', PIPE, { FORCE_COLOR: '1', NO_COLOR: '1' }, false, true],
    ['a terminal and FORCE_COLOR=0', TTY, { FORCE_COLOR: '0' }, false, false],
    ['a dumb terminal', TTY, { TERM: 'dumb' }, false, false],
  ])('with %s', (_, stream, env, noColor, expected) => {
    expect(wantsColor({ stream, env, noColor })).toBe(expected);
  });
});

describe('createStyle', () => {
  it('paints with escape codes where colours are wanted and not at all elsewhere', () => {
    expect(createStyle({ stream: TTY, env: {}, noColor: false }).red('no')).toBe('\u001b[31mno\u001b[39m');
    expect(createStyle({ stream: PIPE, env: {}, noColor: false }).red('no')).toBe('no');
  });
});
