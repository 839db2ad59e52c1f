import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { flipBit } from './support/fixture-copy.ts';
import { readFixtures, WHOLE } from './support/fixtures.ts';
import { runCommand } from './support/run-command.ts';
import { tempFolder } from './support/temp-folder.ts';

/** A run of the real Hugging Face Trainer with checkpoints of steps 2, 4 and 6. */
function trainerRun(): { readonly path: string; [Symbol.dispose](): void } {
  const folder = tempFolder();
  cpSync(join(WHOLE, 'hf-trainer-run/data/run'), join(folder.path, 'run'), { recursive: true });
  return { path: join(folder.path, 'run'), [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

const json = async (...args: readonly string[]) => {
  const { stdout, code } = await runCommand([...args, '--json']);
  return { ...(JSON.parse(stdout) as Record<string, unknown>), code } as Record<string, unknown>;
};

const STEPS = [2, 4, 6];
const sealAll = (run: string) => runCommand(['seal', ...STEPS.map((step) => join(run, `checkpoint-${step}`))]);

describe('a sealed run', () => {
  it('resumes from the newest checkpoint, and from the previous one if the newest is damaged', async () => {
    using run = trainerRun();
    expect(await runCommand(['resume', run.path])).toMatchObject({ code: 3, stdout: '' });
    expect((await sealAll(run.path)).code).toBe(0);
    expect(await runCommand(['resume', run.path])).toMatchObject({ code: 0, stdout: `${join(run.path, 'checkpoint-6')}\n`, stderr: '' });
    truncateSync(join(run.path, 'checkpoint-6/optimizer.pt'), 1000);
    const { code, stdout, stderr } = await runCommand(['resume', run.path]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${join(run.path, 'checkpoint-4')}\n` });
    expect(stderr).toContain('checkpoint-6 was not taken (bad): optimizer.pt has 1000 bytes');
    expect((await runCommand(['quarantine', run.path])).stdout).toContain('checkpoint-6');
    expect(await runCommand(['resume', run.path])).toMatchObject({ code: 0, stderr: '' });
  });

  it('reports the reason when no checkpoint is good any more', async () => {
    using run = trainerRun();
    await sealAll(run.path);
    for (const step of STEPS) rmSync(join(run.path, `checkpoint-${step}/trainer_state.json`));
    const { code, stdout, stderr } = await runCommand(['resume', run.path]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('NO_LAST_GOOD');
    expect(stderr.match(/was not taken/g)).toHaveLength(3);
    expect(readdirSync(join(run.path, '.holdfast/quarantine'))).toEqual(STEPS.map((step) => `checkpoint-${step}`));
  });

  it('starts fresh only on request when all its checkpoints lie in quarantine', async () => {
    using run = trainerRun();
    await sealAll(run.path);
    for (const step of STEPS) rmSync(join(run.path, `checkpoint-${step}/trainer_state.json`));
    await runCommand(['resume', run.path]);
    const again = await runCommand(['resume', run.path]);
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toContain('3 checkpoints in quarantine');
    expect((await runCommand(['ls', run.path])).stdout).toContain('Every sealed checkpoint is in quarantine');
    await runCommand(['rollback', run.path, '--fresh']);
    expect(await runCommand(['resume', run.path])).toMatchObject({ code: 3, stdout: '' });
  });

  it('finds a changed byte with --deep', async () => {
    using run = trainerRun();
    await sealAll(run.path);
    flipBit(join(run.path, 'checkpoint-6/scheduler.pt'), 700);
    expect(await json('resume', '--deep', '--look-only', run.path)).toMatchObject({
      code: 0,
      lastGood: { step: 4, level: 'deep' },
      skipped: [{ name: 'checkpoint-6', code: 'MANIFEST_CHECKSUM', quarantined: null }],
    });
  });

  it('is listed with steps, sizes and the last good one', async () => {
    using run = trainerRun();
    await sealAll(run.path);
    await runCommand(['pin', join(run.path, 'checkpoint-2')]);
    const { stdout, code } = await runCommand(['ls', run.path]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/▸ UNCHECKED +6 .* checkpoint-6 {2}← last good/);
    expect(stdout).toMatch(/UNCHECKED +2 .* checkpoint-2 {2}pinned/);
    expect(await json('ls', '--deep', run.path)).toMatchObject({
      schema: 'holdfast.ls/1',
      lastGood: join(run.path, 'checkpoint-6'),
      checkpoints: [{ step: 6, verdict: 'RESUMABLE' }, { step: 4 }, { step: 2, isPinned: true, where: ['local'] }],
    });
  });

  it('keeps the checkpoints of the rules after prune', async () => {
    using run = trainerRun();
    await sealAll(run.path);
    expect((await runCommand(['prune', run.path])).code).toBe(64);
    expect(await json('prune', run.path, '--keep=1', '--dry-run')).toMatchObject({ removed: [{ step: 2 }, { step: 4 }] });
    expect(await json('prune', run.path, '--keep=1', '--every=4')).toMatchObject({
      kept: [{ step: 6 }, { step: 4, because: ['every'] }],
      removed: [{ step: 2 }],
    });
    expect(readdirSync(run.path).sort()).toEqual(['.holdfast', 'checkpoint-4', 'checkpoint-6']);
  });

  it('can be rolled back, started fresh, and put back as it was', async () => {
    using run = trainerRun();
    await sealAll(run.path);
    await runCommand(['rollback', run.path, '--to=2']);
    expect((await runCommand(['resume', run.path])).stdout).toBe(`${join(run.path, 'checkpoint-2')}\n`);
    await runCommand(['rollback', run.path, '--fresh']);
    expect(await runCommand(['resume', run.path])).toMatchObject({ code: 3, stdout: '' });
    await runCommand(['rollback', run.path, '--undo']);
    expect((await runCommand(['resume', run.path])).stdout).toBe(`${join(run.path, 'checkpoint-6')}\n`);
    expect((await runCommand(['rollback', run.path])).code).toBe(64);
    expect((await runCommand(['rollback', run.path, '--to=7'])).stderr).toContain('There are steps 6, 4, 2');
  });

  it('restores a checkpoint from quarantine', async () => {
    using run = trainerRun();
    await sealAll(run.path);
    const file = join(run.path, 'checkpoint-6/optimizer.pt');
    const bytes = readFileSync(file);
    truncateSync(file, 10);
    await runCommand(['resume', run.path]);
    expect((await runCommand(['quarantine', run.path, '--restore=checkpoint-6'])).code).toBe(0);
    writeFileSync(file, bytes);
    expect((await runCommand(['resume', '--deep', run.path])).stdout).toBe(`${join(run.path, 'checkpoint-6')}\n`);
  });

  it('is not a checkpoint: a command that gets a checkpoint in place of the run fails and starts nothing fresh', async () => {
    using run = trainerRun();
    await sealAll(run.path);
    for (const args of [['resume'], ['ls'], ['prune', '--keep=1'], ['rollback', '--fresh'], ['quarantine']]) {
      const { code, stderr } = await runCommand([...args, join(run.path, 'checkpoint-6')]);
      expect({ args, code, stderr }).toMatchObject({ code: 66, stderr: expect.stringContaining('not the folder of a run') });
    }
  });

  it('gets a report from prune about each skipped checkpoint, with the reason', async () => {
    using run = trainerRun();
    await sealAll(run.path);
    truncateSync(join(run.path, 'checkpoint-6/optimizer.pt'), 10);
    for (const args of [['--dry-run'], []]) {
      const { code, stderr } = await runCommand(['prune', run.path, '--keep=1', ...args]);
      expect(code).toBe(0);
      expect(stderr).toContain('checkpoint-6 was not taken (bad): optimizer.pt has 10 bytes');
    }
    expect(readdirSync(run.path).sort()).toEqual(['.holdfast', 'checkpoint-4']);
  });

  it('says in its list when it starts fresh', async () => {
    using run = trainerRun();
    await sealAll(run.path);
    await runCommand(['rollback', run.path, '--fresh']);
    expect((await runCommand(['ls', run.path])).stdout).toContain('A run starts fresh: it was rolled back from every checkpoint here');
  });

  it('reports a changed world size', async () => {
    using run = trainerRun();
    await sealAll(run.path);
    expect((await runCommand(['resume', '--world-size=8', run.path])).stderr).toContain('saved by 1 rank, resumed by 8');
  });
});

describe('several checkpoints at once', () => {
  it('do not all get one step', async () => {
    using run = trainerRun();
    const paths = STEPS.map((step) => join(run.path, `checkpoint-${step}`));
    expect(await runCommand(['seal', '--step=5', ...paths])).toMatchObject({ code: 64, stdout: '' });
    expect(await runCommand(['resume', run.path])).toMatchObject({ code: 3 });
  });

  it('are sealed where possible, with a reason for each that is refused', async () => {
    using run = trainerRun();
    truncateSync(join(run.path, 'checkpoint-4/optimizer.pt'), 10);
    const paths = [2, 4, 5, 6].map((step) => join(run.path, `checkpoint-${step}`));
    const { code, stdout, stderr } = await runCommand(['seal', ...paths]);
    expect(code).toBe(1);
    expect(stdout.match(/^SEALED .*checkpoint-\d$/gm)).toHaveLength(2);
    expect(stderr.match(/^not sealed: \S+checkpoint-[45]: .* \[(CHECKPOINT_NOT_GOOD|PATH_NOT_FOUND)\]$/gm)).toHaveLength(2);
    expect(stderr).toContain('error CHECKPOINT_NOT_GOOD: 2 of 4 could not be sealed: ');
    expect(await json('seal', ...paths)).toMatchObject({
      code: 1,
      sealed: [
        { step: 2, wasSealed: true },
        { step: 6, wasSealed: true },
      ],
      failed: [
        { path: paths[1], code: 'CHECKPOINT_NOT_GOOD' },
        { path: paths[2], code: 'PATH_NOT_FOUND', hint: expect.any(String) },
      ],
    });
  });

  it.each([
    ['a run', 'hf-trainer-run/data/run', '', 'holds 3 checkpoints', '/run/checkpoint-6'],
    ['a folder with several sets of files', 'tf-manager/data/run', '', 'holds 3 checkpoints', '/run/ckpt-300'],
    ['a shard', 'safetensors-sharded/data', 'model-00001-of-00002.safetensors', 'is one of 3 files', 'a folder of its own'],
  ])('get a hint how to seal them: %s', async (_, fixture, name, problem, wayOut) => {
    using folder = tempFolder();
    const run = join(folder.path, 'run');
    cpSync(join(WHOLE, fixture), run, { recursive: true });
    const { code, stderr } = await runCommand(['seal', '--accept=weights', join(run, name)]);
    expect(code).toBe(1);
    expect(stderr).toContain(problem);
    expect(stderr).toContain(wayOut);
    expect(readdirSync(folder.path)).toEqual(['run']);
  });
});

describe('a checkpoint of TensorFlow, which is several files with a common prefix', () => {
  it('is sealed in place by the prefix or by any of the files, and the trainer gets the prefix', async () => {
    using folder = tempFolder();
    const run = join(folder.path, 'run');
    cpSync(join(WHOLE, 'tf-manager/data/run'), run, { recursive: true });
    const names = ['ckpt-100', 'ckpt-200.index', 'ckpt-300.data-00000-of-00001'];
    expect(await json('seal', ...names.map((name) => join(run, name)))).toMatchObject({
      code: 0,
      sealed: [100, 200, 300].map((step) => ({ path: join(run, `ckpt-${step}`), step, files: 2, format: 'tensorflow' })),
    });
    expect(await runCommand(['resume', '--deep', run])).toMatchObject({ code: 0, stdout: `${join(run, 'ckpt-300')}\n`, stderr: '' });
    expect(await runCommand(['seal', join(run, 'ckpt-300')])).toMatchObject({ code: 0, stdout: expect.stringContaining('STILL SEALED') });
    truncateSync(join(run, 'ckpt-300.data-00000-of-00001'), 10);
    expect((await runCommand(['resume', run])).stdout).toBe(`${join(run, 'ckpt-200')}\n`);
    await runCommand(['prune', run, '--keep=1']);
    const left = ['.holdfast', 'checkpoint', 'ckpt-200.data-00000-of-00001', 'ckpt-200.holdfast.json', 'ckpt-200.index'];
    expect(readdirSync(run).sort()).toEqual(left);
    expect(await runCommand(['quarantine', run, '--restore=ckpt-300'])).toMatchObject({ code: 0 });
    expect(readdirSync(run)).toContain('ckpt-300.index');
  });

  it('is moved into its run with all of its files', async () => {
    using folder = tempFolder();
    const run = join(folder.path, 'run');
    mkdirSync(run);
    cpSync(join(WHOLE, 'tf-sharded/data'), join(folder.path, 'from'), { recursive: true });
    const files = readdirSync(join(folder.path, 'from'), { recursive: true, withFileTypes: true });
    const index = files.find(({ name }) => name.endsWith('.index'));
    const path = join(index?.parentPath ?? '', index?.name ?? '');
    const { code, stdout } = await runCommand(['seal', '--quiet', '--accept=weights', '--step=5', '--run', run, path]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${join(run, basename(path, '.index'))}\n` });
    expect(await json('resume', '--deep', run)).toMatchObject({ code: 0, lastGood: { step: 5 }, skipped: [] });
  });
});

describe('bad input', () => {
  it.each([
    ['a run that is not there', ['resume', 'nowhere'], 66, 'PATH_NOT_FOUND'],
    ['a file where a run should be', ['ls', 'file'], 66, 'PATH_NOT_SUPPORTED'],
    ['a checkpoint that is not there', ['seal', 'nowhere'], 66, 'PATH_NOT_FOUND'],
    ['a folder that is no checkpoint', ['seal', 'empty'], 1, 'CHECKPOINT_NOT_SEALABLE'],
    ['a pin on what is not sealed', ['pin', 'empty'], 66, 'NOT_SEALED'],
    ['a prune where nothing was ever sealed', ['prune', '.', '--keep=1'], 66, 'NOT_SEALED'],
    ['a dry run of one', ['prune', '.', '--keep=1', '--dry-run'], 66, 'NOT_SEALED'],
    ['a number that is none', ['prune', '.', '--keep=0'], 64, 'USAGE'],
    ['a duration without a unit', ['prune', '.', '--within=7'], 64, 'USAGE'],
  ])('%s is a clear error and changes nothing', async (_, [command = '', path = '', ...rest], code, name) => {
    using folder = tempFolder();
    mkdirSync(join(folder.path, 'empty'));
    writeFileSync(join(folder.path, 'file'), '');
    const result = await runCommand([command, join(folder.path, path), ...rest]);
    expect(result).toMatchObject({ code, stdout: '' });
    expect(result.stderr).toContain(name);
    expect(readdirSync(folder.path)).toEqual(['empty', 'file']);
  });
});

it('ls wraps a long note about a checkpoint below its first line, with the code beside the last word', async () => {
  using run = trainerRun();
  const path = join(run.path, `checkpoint-6-${'x'.repeat(40)}`);
  renameSync(join(run.path, 'checkpoint-6'), path);
  expect((await runCommand(['seal', path])).code).toBe(0);
  truncateSync(join(path, 'optimizer.pt'), 1000);
  const lines = (await runCommand(['ls', run.path])).stdout.split('\n');
  const first = lines.findIndex((line) => line.startsWith('✗ '));
  expect(lines[first]).toMatch(/^✗ checkpoint-6-x+: optimizer\.pt /);
  expect(lines[first + 1]).toMatch(/^ {2}\S.* sealed \[MANIFEST_SIZE\]$/);
});

it('seal names a link to a checkpoint as a link, with a hint', async () => {
  using run = trainerRun();
  symlinkSync('checkpoint-6', join(run.path, 'newest'));
  const { code, stderr } = await runCommand(['seal', join(run.path, 'newest')]);
  expect(code).not.toBe(0);
  expect(stderr).toContain('newest is a link\n  Give the checkpoint that it leads to.');
});

describe('a command that reads every byte', () => {
  /** The last progress in bytes. */
  const bytesTold = async (...args: readonly string[]) => {
    const { code, stderr } = await runCommand([...args, '--progress=json']);
    expect(code).toBe(0);
    const lines = stderr.split('\n').filter((line) => line.startsWith('{'));
    const updates = lines.map((line) => JSON.parse(line) as { progress: { unit: string } });
    return updates.map(({ progress }) => progress).findLast(({ unit }) => unit === 'bytes');
  };
  it.each<[string, (run: string) => readonly string[], readonly number[]]>([
    ['ls, of all checkpoints', (run) => ['ls', '--deep', run], [4, 6]],
    ['prune, of the last good one', (run) => ['prune', '--deep', '--keep=1', run], [6]],
    ['seal, of one that is sealed already', (run) => ['seal', join(run, 'checkpoint-6')], [6]],
  ])('reports its progress: %s', async (_, command, steps) => {
    using run = trainerRun();
    const paths = steps.map((step) => join(run.path, `checkpoint-${step}`));
    const { sealed } = (await json('seal', ...paths)) as { sealed?: readonly { readonly bytes: number }[] };
    const total = (sealed ?? []).reduce((sum, { bytes }) => sum + bytes, 0);
    expect(total).toBeGreaterThan(0);
    expect(await bytesTold(...command(run.path))).toMatchObject({ phase: 'reading', done: total, total });
  });
});

describe('a file of an unknown format with the name of a known one', () => {
  const NAMES = [
    'model.tar',
    'state.bin',
    'state.ckpt',
    'state.pt',
    'state.pth',
    'state.npz',
    'state.h5',
    'state.gguf',
    'state.safetensors',
  ];

  it.each(NAMES)('%s is sealed without a format if the option accepts any, and counts', async (name) => {
    using folder = tempFolder();
    const path = join(folder.path, name);
    writeFileSync(path, `a format of its own ${'.'.repeat(1000)}`);
    const refused = await runCommand(['seal', path, '--step=1']);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('--accept anything');
    expect(await json('seal', path, '--step=1', '--accept=anything')).toMatchObject({ code: 0, sealed: [{ format: null }] });
    expect(await json('ls', folder.path)).toMatchObject({ code: 0, checkpoints: [{ verdict: 'UNCHECKED', isLastGood: true }] });
    expect(await json('ls', '--deep', folder.path)).toMatchObject({ code: 0, checkpoints: [{ verdict: 'RESUMABLE', isLastGood: true }] });
    expect(await json('resume', '--deep', folder.path)).toMatchObject({ code: 0, lastGood: { path }, skipped: [] });
  });

  it('does not make seal accept a damaged file of a known format', async () => {
    using run = trainerRun();
    const checkpoint = join(run.path, 'checkpoint-2');
    writeFileSync(join(checkpoint, 'optimizer.pt'), 'these are not the bytes');
    expect(await runCommand(['seal', checkpoint, '--accept=anything'])).toMatchObject({ code: 1, stdout: '' });
    writeFileSync(join(run.path, 'zeros.pt'), Buffer.alloc(5000));
    expect(await runCommand(['seal', join(run.path, 'zeros.pt'), '--step=1', '--accept=anything'])).toMatchObject({ code: 1, stdout: '' });
  });
});

/** The fixtures of one directory or one file; members of sets are sealed with their folder. */
const FIXTURES = readFixtures().filter(({ path }) => !/\.(index|json)$/.test(path));

describe('every whole fixture', () => {
  it.each(FIXTURES)('$id can be sealed, is judged as before or better, and is found again', async ({ id, path, step, deserves }) => {
    using folder = tempFolder();
    const target = join(folder.path, basename(path));
    cpSync(join(WHOLE, id, path), target, { recursive: true, verbatimSymlinks: true });
    expect(await runCommand(['seal', target, '--accept=anything', `--step=${step ?? 1}`])).toMatchObject({ code: 0 });
    const report = await json('verify', '--deep', target);
    const [{ checkpoints } = { checkpoints: [] }] = report['paths'] as { checkpoints: { verdict: string }[] }[];
    expect(checkpoints[0]?.verdict).toBe(deserves.deep === 'UNCHECKED' ? 'RESUMABLE' : deserves.deep);
    expect(await json('resume', '--deep', folder.path)).toMatchObject({ code: 0, lastGood: { path: target }, skipped: [] });
    expect(statSync(target).isDirectory() ? readdirSync(target) : readdirSync(folder.path)).toEqual(
      expect.arrayContaining([statSync(target).isDirectory() ? 'holdfast.manifest.json' : `${basename(path)}.holdfast.json`]),
    );
  });
});
