import { describe, expect, it } from 'vitest';
import { EVIDENCE_CODES } from '../../checkpoint/evidence/catalogue.ts';
import { ERROR_CODES } from '../../core/error-codes.ts';
import { runCommand } from '../../../test/support/run-command.ts';

describe('explain', () => {
  it('tells what a code of evidence does and means', async () => {
    const { code, stdout } = await runCommand(['explain', 'FILE_EMPTY']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^FILE_EMPTY: The file is empty\nThis code makes the verdict PARTIAL\.\n\nA file that should hold data/);
  });

  it('tells the exit code of an error', async () => {
    expect((await runCommand(['explain', 'USAGE'])).stdout).toContain('This code is an error; exit code 64.');
  });

  it('accepts a code in small letters and with dashes', async () => {
    expect((await runCommand(['explain', 'file-empty'])).stdout).toMatch(/^FILE_EMPTY:/);
  });

  it('suggests the code that was meant', async () => {
    expect(await runCommand(['explain', 'FILE_EMTPY'])).toMatchObject({
      code: 64,
      stderr: 'error USAGE: there is no code "FILE_EMTPY". Did you mean FILE_EMPTY?\n  `holdfast explain` lists all codes.\n',
    });
  });

  it('lists every code there is: grouped for people, bare with --quiet, whole with --json', async () => {
    const codes = [...Object.keys(EVIDENCE_CODES), ...Object.keys(ERROR_CODES)];
    const forPeople = (await runCommand(['explain'])).stdout;
    for (const code of codes) expect(forPeople).toContain(`  ${code} `);
    expect((await runCommand(['explain', '--quiet'])).stdout.trimEnd().split('\n')).toEqual(codes);
    const { codes: whole } = JSON.parse((await runCommand(['explain', '--json'])).stdout) as { codes: { code: string }[] };
    expect(whole.map(({ code }) => code)).toEqual(codes);
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

  it('do not use one code for two things', () => {
    expect(Object.keys(EVIDENCE_CODES).filter((code) => code in ERROR_CODES)).toEqual([]);
  });
});
