import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { MEMORY, tempFolder } from '../support/temp-folder.ts';
import { killed, orphans, type Place } from './ship-place.ts';
import { digests, type Ended, runHoldfast, start } from './ship-process.ts';
import { FILES, sealCheckpoint } from './shippable-run.ts';

const TOTAL = Object.values(FILES).reduce((sum, size) => sum + size, 0);

interface Copy {
  readonly name: string;
  readonly state: string;
  readonly sentBytes: number;
  readonly removedUploads: number;
}

function copyOf({ stdout, stderr, code }: Ended): Copy {
  expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
  const [copy] = (JSON.parse(stdout) as { checkpoints: Copy[] }).checkpoints;
  if (copy === undefined) throw new Error('nothing was shipped');
  return copy;
}

/** Tests several processes that ship or fetch at once. */
export function shipTogetherSuite(place: () => Place): void {
  let counter = 0;
  const fresh = () => ({ url: `${place().base}/together-${++counter}`, env: place().env });

  it('of two processes that ship the same checkpoint, one sends it and the other waits and finds it', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const run = join(folder.path, 'run');
    await sealCheckpoint(run, 100);
    const first = start(['ship', run, url, '--limit', '50MiB/s', '--json', '--progress=json'], env);
    await first.begun;
    first.child.kill('SIGSTOP');
    const second = start(['ship', run, url, '--json', '--progress=json'], env);
    await second.begun;
    first.child.kill('SIGCONT');
    const [one, two] = await Promise.all([first.ended, second.ended]);
    expect(copyOf(one)).toMatchObject({ state: 'shipped', sentBytes: TOTAL });
    expect(copyOf(two)).toMatchObject({ state: 'already', sentBytes: 0, removedUploads: 0 });
    expect(two.stderr).toContain(`waiting for process ${first.child.pid ?? 0}`);
    expect(await orphans(url, env, 'step-100')).toBe(0);
    expect(existsSync(join(run, '.holdfast/shipping'))).toBe(false);
  });

  it('ship never removes an upload of a live process, however often it cleans up', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const run = join(folder.path, 'run');
    await sealCheckpoint(run, 100);
    await sealCheckpoint(run, 200, { 'a.dat': 1000 });
    // Let the long ship run: some servers hold up every client until the rest of a paused request
    // arrives.
    const long = start(['ship', run, url, '--checkpoint', 'step-100', '--limit', '20MiB/s', '--json', '--progress=json'], env);
    await long.begun;
    const short = await runHoldfast(['ship', run, url, '--json'], env);
    expect(copyOf(short)).toMatchObject({ name: 'step-200', removedUploads: 0 });
    // Every byte was sent only once.
    expect(copyOf(await long.ended)).toMatchObject({ name: 'step-100', sentBytes: TOTAL });
    expect(await orphans(url, env, 'step-100')).toBe(0);
  });

  it('the next process takes over the upload of a killed one at once', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const run = join(folder.path, 'run');
    await sealCheckpoint(run, 100);
    // It would take twelve seconds, so it cannot end before the kill.
    await killed(['ship', run, url, '--limit', '10MiB/s'], env);
    expect(readdirSync(join(run, '.holdfast/shipping')).some((name) => name.startsWith('claim-'))).toBe(true);
    const next = await runHoldfast(['ship', run, url, '--json', '--progress=json'], env);
    expect(next.stderr).not.toContain('waiting');
    expect(copyOf(next)).toMatchObject({ name: 'step-100' });
    expect(await orphans(url, env, 'step-100')).toBe(0);
    expect(existsSync(join(run, '.holdfast/shipping'))).toBe(false);
  });

  it('two processes that fetch the same checkpoint into one folder both succeed', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const [run, back] = [join(folder.path, 'run'), join(folder.path, 'back')];
    await sealCheckpoint(run, 100);
    expect((await runHoldfast(['ship', run, url], env)).code).toBe(0);
    const first = start(['fetch', url, back, '--limit', '30MiB/s', '--json', '--progress=json'], env);
    await first.begun;
    const [one, two] = await Promise.all([first.ended, runHoldfast(['fetch', url, back, '--json'], env)]);
    expect(JSON.parse(one.stdout)).toMatchObject({ state: 'fetched', receivedBytes: TOTAL });
    expect(JSON.parse(two.stdout)).toMatchObject({ state: 'already', receivedBytes: 0 });
    expect(digests(join(back, 'step-100'))).toEqual(digests(join(run, 'step-100')));
    expect(existsSync(join(back, '.holdfast/fetching'))).toBe(false);
  });
}
