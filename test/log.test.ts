import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { realClock } from '../src/core/clock.ts';
import type { LedgerEvent } from '../src/ledger/events.ts';
import { ledgerFolder } from '../src/ledger/ledger-files.ts';
import { readLedger } from '../src/ledger/reader.ts';
import { openLedger } from '../src/ledger/writer.ts';
import { makeLedger } from './support/make-ledger.ts';
import { LAUNCHER, ROOT, runProcess } from './support/run-process.ts';
import { tempFolder } from './support/temp-folder.ts';

const env = { PATH: process.env['PATH'], TZ: 'UTC' };
const log = (...args: readonly string[]) => runProcess(LAUNCHER, ['log', ...args], { env });

const FINISHED: LedgerEvent = {
  kind: 'attempt-ended',
  exitCode: 0,
  end: 'finished',
  cause: null,
  step: 20_000,
  lastGoodStep: 20_000,
  lostMs: 0,
  lostSteps: 0,
  accelerators: 16,
  sentence: 'finished',
};

function writer(run: string, attempt: number) {
  return openLedger(run, {
    attempt,
    node: 'gpu-z',
    clock: realClock,
    onFailure(error) {
      throw error;
    },
  });
}

/** `holdfast log --follow`, and a way to wait for its output. */
function follow(...args: readonly string[]) {
  const child = spawn(LAUNCHER, ['log', '--follow', ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  const closed = once(child, 'close');
  return {
    child,
    async until(words: string): Promise<void> {
      while (!text.includes(words)) await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data')]);
    },
    async end(): Promise<{ code: number | null; text: string }> {
      const [code] = (await closed) as [number | null];
      return { code, text };
    },
  };
}

describe('holdfast log', () => {
  it('shows a run in a pipe without colours, and changes nothing', async () => {
    using run = tempFolder();
    await makeLedger(run.path);
    const before = readdirSync(run.path, { recursive: true });
    const { code, stdout, stderr } = await log(run.path);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('· 4 attempts in 1h 48m · 19 saves · 5m of work lost');
    expect(stdout).toContain('  09:43:15  decision   flush: it needs 6.5s (usually 4.5s) and 1m 57s are left');
    expect(stdout).not.toContain('\u001b');
    expect(readdirSync(run.path, { recursive: true })).toEqual(before);
  });

  it('prints every event with --json --all, and skips damaged lines', async () => {
    using run = tempFolder();
    await makeLedger(run.path);
    appendFileSync(join(ledgerFolder(run.path), '4-gpu-c.jsonl'), 'garbage\n{"crc32c":"00000000","v":1}\n');
    const { code, stdout } = await log('--json', '--all', run.path);
    const report = JSON.parse(stdout) as { schema: string; attempts: unknown[]; events: unknown[]; files: { damaged: number }[] };
    expect([code, report.schema, report.attempts.length]).toEqual([0, 'holdfast.log/1', 4]);
    expect(report.events).toHaveLength(readLedger(run.path).events.length);
    expect(report.events[0]).toMatchObject({ attempt: 1, node: 'gpu-a', at: '2026-11-15T09:00:00.000Z', kind: 'attempt-started' });
    expect(report.files.reduce((sum, { damaged }) => sum + damaged, 0)).toBe(2);
  });

  it('reports an empty ledger, and a missing run', async () => {
    using run = tempFolder();
    const nothing = await log(run.path);
    expect([nothing.code, nothing.stdout]).toEqual([3, '']);
    expect(nothing.stderr).toContain('nothing was recorded');
    const missing = await log(join(run.path, 'typo'));
    expect([missing.code, missing.stderr]).toEqual([66, expect.stringContaining('error PATH_NOT_FOUND')]);
  });

  it('--follow shows new events, attempt by attempt, and ends when the run is finished', async () => {
    using run = tempFolder();
    await makeLedger(run.path);
    const following = follow(run.path);
    await following.until('attempt 4');
    const ledger = writer(run.path, 5);
    ledger.append({ kind: 'trainer-started', pid: 7, restart: 2 });
    await following.until('process 7, restart 2');
    ledger.append(FINISHED);
    await ledger.close();
    const { code, text } = await following.end();
    expect(code).toBe(0);
    expect(text).toMatch(/attempt 5 · gpu-z · since .*\n .*trainer {4}process 7, restart 2\n.* end {8}finished · last good step 20000\n$/);
  });

  it('--follow waits for the first event, and --json gives a line for each event', async () => {
    using run = tempFolder();
    mkdirSync(join(run.path, '.holdfast'));
    const following = follow('--json', run.path);
    const ledger = writer(run.path, 1);
    ledger.append({ kind: 'trainer-started', pid: 7, restart: 0 });
    await following.until('"pid":7');
    ledger.append(FINISHED);
    await ledger.close();
    const { code, text } = await following.end();
    expect(code).toBe(0);
    expect(
      text
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { kind: string }).kind),
    ).toEqual(['trainer-started', 'attempt-ended']);
  });

  it.skipIf(process.platform !== 'linux')('--follow ends when the reader of its pipe has ended, even without a new event', async () => {
    using run = tempFolder();
    await makeLedger(run.path);
    const line = '"$1" log --follow --json "$2" | head -c 300';
    const { code, stdout } = await runProcess('bash', ['-c', line, 'bash', LAUNCHER, run.path]);
    expect([code, stdout.length]).toEqual([0, 300]);
  });

  it('--follow ends on Ctrl-C', async () => {
    using run = tempFolder();
    const following = follow(run.path);
    await following.until('waiting for the first attempt');
    following.child.kill('SIGINT');
    expect((await following.end()).code).toBe(130);
  });
});

/**
 * A process that appends this many notes, or notes until it is killed. Prints a line at its start.
 */
function writingProcess(run: string, name: string, count: number) {
  const script = `
    import { openLedger } from ${JSON.stringify(join(ROOT, 'src/ledger/writer.ts'))};
    import { realClock } from ${JSON.stringify(join(ROOT, 'src/core/clock.ts'))};
    const ledger = openLedger(${JSON.stringify(run)}, { attempt: 1, node: 'a', clock: realClock, onFailure(error) { throw error; } });
    for (let n = 1; n <= ${count}; n++) {
      ledger.append({ kind: 'note', level: 'info', code: null, sentence: ${JSON.stringify(name)} + ' ' + n + ' ' + 'x'.repeat(n % 900) });
      if (n === 100) process.stdout.write('begun\\n');
      if (n % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await ledger.close();`;
  return spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
}

const sentences = (run: string): string[] =>
  readLedger(run).events.map(({ event }) => (event.kind === 'note' ? event.sentence.split(' ').slice(0, 2).join(' ') : event.kind));

describe('a ledger file', () => {
  it('keeps every line of two processes that append to it at once', async () => {
    using run = tempFolder();
    mkdirSync(join(run.path, '.holdfast'));
    const writers = ['a', 'b'].map((name) => writingProcess(run.path, name, 3000));
    const codes = await Promise.all(writers.map(async (child) => (await once(child, 'close'))[0] as unknown));
    expect(codes).toEqual([0, 0]);
    expect(readLedger(run.path).files[0]).toMatchObject({ events: 6000, damaged: 0, isTorn: false });
    for (const name of ['a', 'b']) {
      expect(sentences(run.path).filter((text) => text.startsWith(name))).toEqual(
        Array.from({ length: 3000 }, (_, n) => `${name} ${n + 1}`),
      );
    }
  });

  it('keeps every line written before its writer was killed, and the next writer continues it', async () => {
    using run = tempFolder();
    mkdirSync(join(run.path, '.holdfast'));
    for (let life = 1; life <= 3; life++) {
      const child = writingProcess(run.path, `life-${life}`, 1e9);
      await once(child.stdout, 'data');
      child.kill('SIGKILL');
      await once(child, 'close');
    }
    const all = sentences(run.path);
    for (let life = 1; life <= 3; life++) {
      const own = all.filter((text) => text.startsWith(`life-${life} `));
      expect(own.length).toBeGreaterThanOrEqual(100);
      expect(own).toEqual(own.map((_, n) => `life-${life} ${n + 1}`));
    }
    // A kill in the middle of a write may tear that line, and no other.
    expect(readLedger(run.path).files[0]?.damaged).toBeLessThanOrEqual(3);
    const seqs = readLedger(run.path).events.map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, n) => n + 1));
  });
});
