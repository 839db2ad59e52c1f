import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sealSteps, stagedSave, testRun } from '../../../test/support/sealed-run.ts';
import { commitSave } from '../commit/commit.ts';
import { isDead, processIdentity } from '../disk/process-identity.ts';
import { prune } from '../retention/prune.ts';
import { beginSave } from '../commit/save.ts';
import type { OpenStore } from '../folder/store.ts';

const BOOT = 'boot-1';
const SELF = processIdentity(BOOT);

/** A process of this machine that has ended and was reaped, in the same namespace as this one. */
function deadOwner(): string {
  const { pid } = spawnSync('true');
  return [BOOT, SELF?.split('.')[1], pid, '1'].join('.');
}

const stagedOf = ({ path }: OpenStore) => readdirSync(join(path, '.holdfast/attempts/1/staging'));

describe.skipIf(SELF === null)('a process', () => {
  const [, namespace = '', pid = '', began = ''] = (SELF ?? '').split('.');

  it.each<[string, string, boolean]>([
    ['itself', SELF ?? '', false],
    ['one that ended', deadOwner(), true],
    ['one whose number was given again', `${BOOT}.${namespace}.${pid}.${Number(began) + 1}`, true],
    ['one of another life of the machine, or of another machine', `boot-2.${namespace}.${pid}.1`, false],
    ['one of another container', `${BOOT}.1.${pid}.1`, false],
    ['one that a stranger made up', `${BOOT}.${namespace}.-1.1`, false],
    ['none', '', false],
  ])('is judged dead or alive: %s', (_, owner, expected) => {
    expect(isDead(owner, SELF)).toBe(expected);
  });
});

/** What another process, started by this shell command, reports about this one. */
function seenBy(...launcher: readonly string[]): { readonly identity: string | null; readonly isDead: boolean } {
  const code = `
    const { isDead, processIdentity } = await import(${JSON.stringify(new URL('../disk/process-identity.ts', import.meta.url).href)});
    const identity = processIdentity(${JSON.stringify(BOOT)});
    console.log(JSON.stringify({ identity, isDead: isDead(${JSON.stringify(SELF)}, identity) }));`;
  const [program, ...args] = [...launcher, process.execPath, '--input-type=module', '-e', code];
  return JSON.parse(spawnSync(program, args, { encoding: 'utf8' }).stdout) as ReturnType<typeof seenBy>;
}

const canUnshare = spawnSync('unshare', ['--pid', '--time', '--uts', '--fork', 'true']).status === 0;

describe.skipIf(SELF === null || !canUnshare)('a living process', () => {
  it.each<[string, string[]]>([
    ['the same place', ['env']],
    ['a container that counts time from another beginning', ['unshare', '--time', '--boottime', '100000', '--fork']],
    ['a machine of another name', ['unshare', '--uts', 'sh', '-c', 'hostname another && exec "$@"', '-']],
    ['a container of its own that sees the processes of this one in /proc', ['unshare', '--pid', '--fork']],
  ])('is not judged dead from %s', (_, launcher) => {
    expect(seenBy(...launcher).isDead).toBe(false);
  });

  it('has no identity where /proc belongs to another container', () => {
    expect(seenBy('unshare', '--pid', '--fork').identity).toBeNull();
  });
});

describe.skipIf(SELF === null)('the staging of a killed process', () => {
  it('is deleted by the next save of the same attempt', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1);
    await stagedSave({ ...run.store, owner: deadOwner() }, attempt, { step: 2, save: 'left' });
    expect(stagedOf(run.store)).toEqual(['left']);
    const save = await stagedSave(run.store, attempt, { step: 3, save: 'next' });
    expect(stagedOf(run.store)).toEqual(['next']);
    expect(commitSave(run.store, save).name).toBe('step-3');
    expect(stagedOf(run.store)).toEqual([]);
  });

  it('is deleted by a prune', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1);
    await stagedSave({ ...run.store, owner: deadOwner() }, attempt, { step: 2 });
    await prune(run.store, { retention: { last: 1, every: null, withinMs: null } });
    expect(stagedOf(run.store)).toEqual([]);
    expect(existsSync(join(run.path, 'step-1/shard-0'))).toBe(true);
  });

  it('stays while another rank of the save lives or its state is unknown', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1);
    const facts = { step: 2, worldSize: 2, save: 'shared' };
    beginSave({ ...run.store, owner: deadOwner() }, attempt, facts);
    beginSave(run.store, attempt, facts);
    beginSave({ ...run.store, owner: 'boot-of-another-node.1.1.1' }, attempt, { ...facts, save: 'remote' });
    mkdirSync(join(run.path, '.holdfast/attempts/1/staging/unmarked'));
    writeFileSync(join(run.path, '.holdfast/attempts/1/staging/stray'), '');
    beginSave(run.store, attempt, { ...facts, save: 'own' });
    expect(stagedOf(run.store)).toEqual(['own', 'remote', 'shared', 'stray', 'unmarked']);
  });
});
