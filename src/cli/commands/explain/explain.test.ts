import { describe, expect, it } from 'vitest';
import { EVIDENCE_CODES } from '../../../evidence/catalogue.ts';
import { RULES } from '../../../lint/catalogue.ts';
import { ERROR_CODES } from '../../../core/error-codes.ts';
import { EXIT } from '../../../core/exit-codes.ts';
import { CAUSES } from '../../../domain/grace/notice.ts';
import { VERDICTS } from '../../../verify/verdict.ts';
import { readEntries } from './entries.ts';
import { runCommand } from '../../../../test/support/run-command.ts';

describe('explain', () => {
  it('explains the effect and the meaning of an evidence code', async () => {
    const { code, stdout } = await runCommand(['explain', 'FILE_EMPTY']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^FILE_EMPTY: The file is empty\nThis code makes the verdict PARTIAL\.\n\nA file that should hold data/);
  });

  it('names the exit code of an error', async () => {
    expect((await runCommand(['explain', 'USAGE'])).stdout).toContain('This code is an error; exit code 64.');
  });

  it('accepts a code in small letters and with dashes', async () => {
    expect((await runCommand(['explain', 'file-empty'])).stdout).toMatch(/^FILE_EMPTY:/);
  });

  it('suggests the nearest code', async () => {
    expect(await runCommand(['explain', 'FILE_EMTPY'])).toMatchObject({
      code: 64,
      stderr:
        'error USAGE: nothing is called "FILE_EMTPY". Did you mean FILE_EMPTY?\n  `holdfast explain` lists everything that can be explained.\n',
    });
  });

  it.each([
    ['zombi', 'ZOMBIE'],
    ['Aws_Spt', 'aws-spot'],
    ['1434', '134'],
    ['STORE-FUL', 'STORE_FULL'],
  ])('suggests for %s the nearest word of any kind: %s', async (typed, meant) => {
    expect((await runCommand(['explain', typed])).stderr).toContain(`nothing is called "${typed}". Did you mean ${meant}?`);
  });

  it('explains a verdict: what it means, what to do, and which evidence of which format leads to it', async () => {
    const { stdout } = await runCommand(['explain', 'zombie']);
    expect(stdout).toMatch(/^ZOMBIE: Pieces of several saves\n/);
    expect(stdout).toMatch(/\nWhat to do:\n {2}Do not resume from it\./);
    expect(stdout).toMatch(/\n {2}DeepSpeed +DEEPSPEED_LEFTOVER_RANK DEEPSPEED_FILES_DISAGREE/);
    const verdict = JSON.parse((await runCommand(['explain', '--json', 'ZOMBIE'])).stdout) as object;
    expect(verdict).toMatchObject({ code: 'ZOMBIE', kind: 'verdict', effect: 'zombie', exit: null });
  });

  it('explains for an exit code of Holdfast what a script and a Job should do', async () => {
    const { stdout } = await runCommand(['explain', '143']);
    expect(stdout).toMatch(/^143: Interrupted, and resumable\nThis is an exit code of Holdfast\.\n/);
    expect(stdout).toContain('Start the same command again');
    expect(stdout).toContain('podFailurePolicy: Ignore');
    const code = JSON.parse((await runCommand(['explain', '--json', '65'])).stdout) as object;
    expect(code).toMatchObject({ code: '65', kind: 'exit', exit: 65, name: 'unusable', job: 'FailJob' });
  });

  it('explains any other exit code: of a signal, or the trainer’s own', async () => {
    expect((await runCommand(['explain', '137'])).stdout).toContain('OOMKilled');
    expect((await runCommand(['explain', '42'])).stdout).toContain('exit code that Holdfast never gives by itself');
    expect(await runCommand(['explain', '256'])).toMatchObject({ code: 64, stdout: '' });
  });

  it('explains whether a cause ends the attempt, and how much time it leaves', async () => {
    expect((await runCommand(['explain', 'aws-spot'])).stdout).toContain('ends the attempt, and leaves 120 seconds');
    expect((await runCommand(['explain', 'AWS_REBALANCE'])).stdout).toContain('asks for a save, and ends nothing');
    const cause = JSON.parse((await runCommand(['explain', '--json', 'eviction-hard'])).stdout) as object;
    expect(cause).toMatchObject({ kind: 'cause', terminating: true, usualGraceSeconds: 2 });
  });

  it('keeps the recorded fields for a code of evidence or of an error', async () => {
    for (const code of ['FILE_EMPTY', 'USAGE']) {
      const entry = JSON.parse((await runCommand(['explain', '--json', code])).stdout) as object;
      expect(Object.keys(entry)).toEqual(['code', 'kind', 'effect', 'exit', 'title', 'explain']);
    }
  });

  it('lists every word: grouped for people, bare with --quiet, whole with --json', async () => {
    const { codes: whole } = JSON.parse((await runCommand(['explain', '--json'])).stdout) as { codes: { code: string }[] };
    const words = whole.map(({ code }) => code);
    const exits = Object.values(EXIT).map(String);
    const known = [
      ...VERDICTS,
      ...Object.keys(EVIDENCE_CODES),
      ...RULES.map(({ code }) => code),
      ...Object.keys(ERROR_CODES),
      ...exits,
      ...Object.keys(CAUSES),
    ];
    expect(known.filter((word) => !words.includes(word))).toEqual([]);
    const forPeople = (await runCommand(['explain'])).stdout;
    for (const word of words) expect(forPeople).toContain(`  ${word} `);
    expect((await runCommand(['explain', '--quiet'])).stdout.trimEnd().split('\n')).toEqual(words);
  });

  it('explains how bad a finding of lint is, why, and what to do', async () => {
    const { stdout } = await runCommand(['explain', 'CRON_OVERLAPS']);
    expect(stdout).toContain('This code is a finding of holdfast lint; severity error.');
    expect(stdout).toContain('What to do:\n  Set concurrencyPolicy: Forbid.');
  });

  it('treats two spellings of a word as the same word', async () => {
    const words = (await readEntries()).map(({ code }) => code.toUpperCase().replaceAll('-', '_'));
    expect(words.filter((word, index) => words.indexOf(word) !== index)).toEqual([]);
  });
});

describe('the catalogues', () => {
  it.each([...Object.entries(EVIDENCE_CODES), ...Object.entries(ERROR_CODES)])(
    '%s has a title and an explanation for people',
    (code, kind) => {
      expect(code).toMatch(/^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/);
      expect(kind.title).toMatch(/^.{5,80}(?<!\.)$/);
      expect(kind.explain).toMatch(/^[A-Z`].{30,}\.\)?$/s);
    },
  );

  it('do not use one code for two meanings', () => {
    expect(Object.keys(EVIDENCE_CODES).filter((code) => code in ERROR_CODES)).toEqual([]);
  });
});
