import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CheckpointReport, VerifyReport } from '../src/verify/report.ts';
import { safetensorsFile } from './support/make-safetensors.ts';
import { tempFolder } from './support/temp-folder.ts';

const HOLDFAST = join(import.meta.dirname, '..', 'bin', 'holdfast');
const FIXTURES = join(import.meta.dirname, 'fixtures', 'whole');

function holdfast(...args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(HOLDFAST, args, { encoding: 'utf8' });
}

function verifyJson(...args: readonly string[]): { status: number | null; report: VerifyReport; checkpoints: readonly CheckpointReport[] } {
  const { status, stdout } = holdfast('verify', '--json', ...args);
  const report = JSON.parse(stdout) as VerifyReport;
  return { status, report, checkpoints: report.paths.flatMap((path) => path.checkpoints) };
}

describe('exit codes', () => {
  it('0 when everything is RESUMABLE or UNCHECKED', () => {
    expect(holdfast('verify', join(FIXTURES, 'torch-zip-train')).status).toBe(0);
  });

  it('1 if checksums are required and were not compared, 0 if they were', () => {
    const path = join(FIXTURES, 'torch-zip-train');
    expect(holdfast('verify', '--require', 'resumable', path).status).toBe(1);
    expect(holdfast('verify', '--require=resumable', '--deep', path).status).toBe(0);
  });

  it('1 when one of several is not good enough', () => {
    expect(holdfast('verify', join(FIXTURES, 'torch-zip-train'), join(FIXTURES, 'torch-zip-weights')).status).toBe(1);
  });

  it('3 when nothing was recognised', () => {
    using folder = tempFolder();
    writeFileSync(join(folder.path, 'notes.txt'), 'nothing here');
    expect(holdfast('verify', folder.path).status).toBe(3);
  });

  it('64 for an invalid command line, 66 for a missing path', () => {
    expect(holdfast('verify').status).toBe(64);
    expect(holdfast('verify', '--depp', 'x').status).toBe(64);
    const missing = holdfast('verify', '/no/such/checkpoint');
    expect(missing.status).toBe(66);
    expect(missing.stderr).toMatch(/PATH_NOT_FOUND.*\/no\/such\/checkpoint/);
  });
});

describe('a run with several checkpoints', () => {
  it('marks the newest one a run could resume from, and --last-good prints its path alone', () => {
    using folder = tempFolder();
    cpSync(join(FIXTURES, 'hf-trainer-run', 'data', 'run'), folder.path, { recursive: true });
    truncateSync(join(folder.path, 'checkpoint-6', 'optimizer.pt'), 1000);
    const { status, report, checkpoints } = verifyJson(folder.path);
    expect(status).toBe(1);
    expect(checkpoints.map(({ verdict, isLastGood }) => [verdict, isLastGood])).toEqual([
      ['PARTIAL', false],
      ['UNCHECKED', true],
      ['UNCHECKED', false],
    ]);
    expect(report.paths[0]?.lastGood).toBe(join(folder.path, 'checkpoint-4'));
    expect(holdfast('verify', '--last-good', folder.path)).toMatchObject({ status: 0, stdout: `${join(folder.path, 'checkpoint-4')}\n` });
  });

  it('--last-good reports that there is none', () => {
    using folder = tempFolder();
    mkdirSync(join(folder.path, 'run'));
    writeFileSync(join(folder.path, 'run', 'model.pt'), '');
    const { status, stdout, stderr } = holdfast('verify', '--last-good', folder.path);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain('NO_LAST_GOOD');
  });
});

describe('a running writer', () => {
  it('makes the verdict IN_PROGRESS, and a leftover temporary file alone does not', async () => {
    using folder = tempFolder();
    const file = join(folder.path, 'model.safetensors');
    writeFileSync(file, safetensorsFile({ 'layer.weight': 64, 'optimizer.exp_avg': 64 }));
    writeFileSync(join(folder.path, '.tmpXYZ'), 'left behind');
    expect(verifyJson(folder.path).checkpoints[0]?.verdict).toBe('UNCHECKED');
    const writer = spawn('sh', ['-c', `exec 3>>"${file}"; echo open; read _`], { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      await once(writer.stdout, 'data');
      const [checkpoint] = verifyJson(folder.path).checkpoints;
      expect(checkpoint?.verdict).toBe('IN_PROGRESS');
      expect(checkpoint?.evidence.map(({ code }) => code)).toContain('FILE_OPEN_FOR_WRITING');
    } finally {
      writer.stdin.end('\n');
      await once(writer, 'exit');
    }
  });
});

it('a name with terminal escapes is shown, not obeyed', () => {
  using folder = tempFolder();
  writeFileSync(join(folder.path, 'model\u001b[2J\n.safetensors'), 'garbage');
  const { stdout } = holdfast('verify', folder.path);
  expect(stdout).not.toContain('\u001b');
  expect(stdout).toContain('model\\x1b[2J\\x0a.safetensors');
});
