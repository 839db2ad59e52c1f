import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { formatManifest, type Manifest } from '../../src/seal/manifest.ts';
import { ROOT } from '../support/run-process.ts';
import { safetensorsFile } from '../support/make-safetensors.ts';
import { MEMORY, tempFolder } from '../support/temp-folder.ts';
import { killed, openAt, orphans, type Place } from './ship-place.ts';
import { digests, runHoldfast, start } from './ship-process.ts';
import { FILES, sealCheckpoint } from './shippable-run.ts';

/** Changes the manifest of a checkpoint and gives it a matching digest. */
function resealed(checkpoint: string, change: (text: string) => string): Buffer {
  const { sha256: _, ...manifest } = JSON.parse(change(readFileSync(join(checkpoint, 'holdfast.manifest.json'), 'utf8'))) as Manifest & {
    sha256: string;
  };
  return Buffer.from(formatManifest(manifest));
}

/** Lists the fields of a document that the reference page does not mention. */
function undocumented(text: string): readonly string[] {
  const page = readFileSync(join(ROOT, 'docs/reference/ship-json.md'), 'utf8');
  const names: string[] = [];
  JSON.parse(text, (name, value: unknown) => (names.push(name), value));
  return names.filter((name) => !/^\d*$/.test(name) && !page.includes(`\`${name}\``) && !page.includes(`"${name}"`));
}

/** Tests ship and fetch with any kind of store. */
export function shipSuite(place: () => Place): void {
  let counter = 0;
  const fresh = () => ({ url: `${place().base}/prefix-${++counter}`, env: place().env });

  it('ship copies a checkpoint, moves the pointer and records the copy, and fetch returns it byte for byte', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const run = join(folder.path, 'run');
    await sealCheckpoint(run, 100);
    const shipped = await runHoldfast(['ship', run, url, '--json'], env);
    expect(shipped.stderr).toBe('');
    expect(JSON.parse(shipped.stdout)).toMatchObject({
      schema: 'holdfast.ship/1',
      url,
      checkpoints: [{ name: 'step-100', state: 'shipped', files: 5, pointer: { moved: true }, isRecorded: true }],
    });
    expect(JSON.parse(readFileSync(join(run, '.holdfast/shipped/step-100.json'), 'utf8'))).toMatchObject({ copies: [{ url, files: 5 }] });
    expect(JSON.parse((await runHoldfast(['ship', run, url, '--json'], env)).stdout)).toMatchObject({
      checkpoints: [{ state: 'already', sentBytes: 0 }],
    });
    const back = join(folder.path, 'back');
    const fetched = await runHoldfast(['fetch', url, back, '--json'], env);
    expect(fetched.stderr).toBe('');
    const bytes = Object.values(FILES).reduce((sum, size) => sum + size, 0);
    expect(JSON.parse(fetched.stdout)).toMatchObject({ name: 'step-100', state: 'fetched', receivedBytes: bytes });
    expect([...undocumented(shipped.stdout), ...undocumented(fetched.stdout)]).toEqual([]);
    expect(digests(join(back, 'step-100'))).toEqual(digests(join(run, 'step-100')));
    expect((await runHoldfast(['resume', back, '--look-only'], env)).stdout.trim()).toBe(join(back, 'step-100'));
    expect(await orphans(url, env, 'step-100')).toBe(0);
  });

  it('ship and fetch resume after a kill at any moment, and leave no upload behind', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const run = join(folder.path, 'run');
    await sealCheckpoint(run, 100);
    for (let kills = 0; kills < 6; kills++) {
      await killed(['ship', run, url, '--limit', '90MiB/s', '--parallel', '3'], env);
      await using store = openAt(url, env);
      const isSealed = (await store.read('step-100/holdfast.manifest.json', 1e6)) !== null;
      // Once the manifest is there, every object must be there.
      if (isSealed) for (const [file, size] of Object.entries(FILES)) expect((await store.head(`step-100/${file}`))?.size).toBe(size);
    }
    const last = await runHoldfast(['ship', run, url, '--json'], env);
    expect(last.stderr).toBe('');
    expect(await orphans(url, env, 'step-100')).toBe(0);
    const back = join(folder.path, 'back');
    for (let kills = 0; kills < 4; kills++) {
      await killed(['fetch', url, back, '--limit', '90MiB/s'], env);
      // The final name holds the whole checkpoint, or does not exist.
      if (existsSync(join(back, 'step-100'))) expect(digests(join(back, 'step-100'))).toEqual(digests(join(run, 'step-100')));
    }
    expect((await runHoldfast(['fetch', '--quiet', url, back], env)).stderr).toBe('');
    expect(digests(join(back, 'step-100'))).toEqual(digests(join(run, 'step-100')));
    expect(existsSync(join(back, '.holdfast/fetching'))).toBe(false);
  });

  it('ship removes the uploads that a killed ship of another checkpoint has left', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const run = join(folder.path, 'run');
    await sealCheckpoint(run, 100);
    await killed(['ship', run, url, '--limit', '40MiB/s'], env);
    await sealCheckpoint(run, 200, { 'small.dat': 10 });
    expect((await runHoldfast(['ship', run, url], env)).code).toBe(0);
    expect(await orphans(url, env, 'step-100', 'step-200')).toBe(0);
    const back = join(folder.path, 'back');
    expect(JSON.parse((await runHoldfast(['fetch', url, back, '--json'], env)).stdout)).toMatchObject({ name: 'step-200' });
  });

  it('Ctrl-C ends a ship at once, and the next one resumes', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const run = join(folder.path, 'run');
    await sealCheckpoint(run, 100);
    const { child, ended, begun } = start(['ship', run, url, '--limit', '100KiB/s', '--progress=json'], env);
    await begun;
    // Without the signal it would take twenty minutes.
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
    expect((await runHoldfast(['ship', run, url], env)).code).toBe(0);
    expect(await orphans(url, env, 'step-100')).toBe(0);
  });

  it('the pointer never goes back, whichever attempt ships last', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const run = join(folder.path, 'run');
    for (const step of [10, 20, 30]) await sealCheckpoint(run, step, { 'a.dat': 100 });
    const newest = await runHoldfast(['ship', run, url, '--checkpoint', 'step-30'], env);
    expect(newest.code).toBe(0);
    const all = JSON.parse((await runHoldfast(['ship', run, url, '--all', '--json'], env)).stdout) as {
      checkpoints: { name: string; pointer: unknown }[];
    };
    expect(all.checkpoints.map(({ name }) => name)).toEqual(['step-10', 'step-20', 'step-30']);
    expect(all.checkpoints[0]?.pointer).toMatchObject({ moved: false, step: 30 });
    expect(JSON.parse((await runHoldfast(['fetch', url, join(folder.path, 'back'), '--json'], env)).stdout)).toMatchObject({ step: 30 });
  });

  it('several processes that ship at once end with the same copy', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const run = join(folder.path, 'run');
    for (const step of [1, 2, 3]) await sealCheckpoint(run, step, { 'a.dat': 3_000_000, 'b.dat': 100 });
    const names = ['step-1', 'step-2', 'step-3', 'step-3'];
    const all = await Promise.all(names.map((name) => runHoldfast(['ship', run, url, '--checkpoint', name], env)));
    expect(all.map(({ stderr, code }) => [code, code === 0 ? '' : stderr])).toEqual(names.map(() => [0, '']));
    expect(JSON.parse((await runHoldfast(['fetch', url, join(folder.path, 'back'), '--json'], env)).stdout)).toMatchObject({ step: 3 });
  });

  it('ship refuses a checkpoint that differs from its seal', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const run = join(folder.path, 'run');
    await sealCheckpoint(run, 100);
    const file = join(run, 'step-100/model/weights-2.dat');
    const bytes = readFileSync(file);
    bytes[20_000_000] = (bytes[20_000_000] as number) ^ 4;
    writeFileSync(file, bytes);
    const { code, stderr } = await runHoldfast(['ship', run, url], env);
    expect(stderr).toContain('SOURCE_CHANGED');
    expect(code).toBe(1);
    expect((await runHoldfast(['fetch', url, join(folder.path, 'back')], env)).stderr).toContain('REMOTE_NOT_FOUND');
    writeFileSync(file, bytes.subarray(0, 1000));
    expect((await runHoldfast(['ship', run, url], env)).stderr).toContain('SOURCE_CHANGED');
  });

  it('ship and fetch refuse a prefix or a folder of another run', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const [one, two] = [join(folder.path, 'one'), join(folder.path, 'two')];
    await sealCheckpoint(one, 1, { 'a.dat': 10 });
    await sealCheckpoint(two, 1, { 'a.dat': 10 });
    expect((await runHoldfast(['ship', one, url], env)).code).toBe(0);
    const second = await runHoldfast(['ship', two, url], env);
    expect(second.stderr).toContain('REMOTE_CONFLICT');
    expect((await runHoldfast(['fetch', url, two], env)).stderr).toContain('RUN_FOREIGN');
    // Even when only its checkpoints say which run it belongs to.
    rmSync(join(two, '.holdfast'), { recursive: true });
    expect((await runHoldfast(['fetch', url, two, '--checkpoint', 'step-1'], env)).stderr).toContain('RUN_FOREIGN');
  });

  it('fetch does not report a checkpoint as present when only its seal is left', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const [run, back] = [join(folder.path, 'run'), join(folder.path, 'back')];
    await sealCheckpoint(run, 1, { 'a.dat': 10 });
    await runHoldfast(['ship', run, url], env);
    await runHoldfast(['fetch', url, back], env);
    rmSync(join(back, 'step-1/a.dat'));
    expect(await runHoldfast(['fetch', url, back], env)).toMatchObject({ code: 1, stderr: expect.stringContaining('a.dat is missing') });
    expect((await runHoldfast(['resume', back], env)).code).toBe(1);
    expect((await runHoldfast(['fetch', url, back], env)).code).toBe(0);
    expect(readdirSync(join(back, 'step-1'))).toContain('a.dat');
  });

  it('fetch writes nothing when the remote manifest names files elsewhere', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const run = join(folder.path, 'run');
    await sealCheckpoint(run, 1, { 'a.dat': 10 });
    await runHoldfast(['ship', run, url], env);
    await using store = openAt(url, env);
    const hostile = resealed(join(run, 'step-1'), (text) => text.replace('"a.dat"', '"../../escaped"'));
    await store.create('step-9/holdfast.manifest.json', hostile);
    const { stderr, code } = await runHoldfast(['fetch', url, join(folder.path, 'back'), '--checkpoint', 'step-9'], env);
    expect(stderr).toContain('REMOTE_INVALID');
    expect(code).toBe(1);
    expect(existsSync(join(folder.path, 'back'))).toBe(false);
    expect((await runHoldfast(['fetch', url, join(folder.path, 'back'), '--checkpoint', '../x'], env)).code).toBe(64);
  });

  it('fetch writes nothing elsewhere when the save in a remote manifest looks like a path', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const [run, back] = [join(folder.path, 'run'), join(folder.path, 'a/b/back')];
    await sealCheckpoint(run, 1, { 'a.dat': 10 });
    await runHoldfast(['ship', run, url], env);
    await using store = openAt(url, env);
    const hostile = resealed(join(run, 'step-1'), (text) => text.replace(/"save":"[^"]*"/, '"save":"../../../escaped"'));
    await store.create('step-9/holdfast.manifest.json', hostile);
    await store.create('step-9/a.dat', readFileSync(join(run, 'step-1/a.dat')));
    expect((await runHoldfast(['fetch', url, back, '--checkpoint', 'step-9'], env)).code).toBe(0);
    expect(readdirSync(join(folder.path, 'a/b'))).toEqual(['back']);
    expect(readdirSync(back).sort()).toEqual(['.holdfast', 'step-9']);
    expect(readdirSync(join(folder.path, 'a'))).toEqual(['b']);
  });

  it('a single-file checkpoint is shipped and fetched with its manifest beside it', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const [run, back] = [join(folder.path, 'run'), join(folder.path, 'back')];
    mkdirSync(run);
    writeFileSync(join(run, 'model.safetensors'), safetensorsFile({ weight: 9_000_000 }));
    expect((await runHoldfast(['seal', join(run, 'model.safetensors'), '--step', '7', '--accept', 'weights'], env)).code).toBe(0);
    const shipped = await runHoldfast(['ship', run, url, '--json'], env);
    expect(JSON.parse(shipped.stdout)).toMatchObject({ checkpoints: [{ name: 'model.safetensors', state: 'shipped', files: 1 }] });
    expect(JSON.parse((await runHoldfast(['fetch', url, back, '--json'], env)).stdout)).toMatchObject({
      name: 'model.safetensors',
      step: 7,
    });
    for (const name of ['model.safetensors', 'model.safetensors.holdfast.json'])
      expect(readFileSync(join(back, name)).equals(readFileSync(join(run, name)))).toBe(true);
    expect((await runHoldfast(['resume', back, '--look-only'], env)).stdout.trim()).toBe(join(back, 'model.safetensors'));
    expect(JSON.parse((await runHoldfast(['fetch', url, back, '--json'], env)).stdout)).toMatchObject({ state: 'already' });
    expect(readdirSync(join(back, '.holdfast')).includes('fetching')).toBe(false);
  });

  it('fetch never overwrites a different file or folder of the same name', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const [run, back] = [join(folder.path, 'run'), join(folder.path, 'back')];
    await sealCheckpoint(run, 1, { 'a.dat': 10 });
    await runHoldfast(['ship', run, url], env);
    await runHoldfast(['fetch', url, back], env);
    renameSync(join(back, 'step-1/holdfast.manifest.json'), join(back, 'step-1/other.json'));
    expect((await runHoldfast(['fetch', url, back], env)).stderr).toContain('NAME_TAKEN');
  });
}
