import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../core/clock.ts';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { type Claim, openClaims } from './claims.ts';
import { formatOwner, thisProcess } from './owner.ts';

function claimsIn(folder: string, clock = new VirtualClock(), stop = new AbortController()) {
  return { claims: openClaims(join(folder, 'claims'), { root: folder, clock, signal: stop.signal }), clock, stop };
}

/** Leaves a claim of a process whose number no live process has. */
function abandon(folder: string, wasSeenFrom = (identity: string) => identity): void {
  const { claims } = claimsIn(folder);
  claims.tryTake('it');
  const [name = ''] = readdirSync(join(folder, 'claims'));
  const own = thisProcess('gone');
  const dead = own.process?.replace(`.${own.pid}.`, `.${2 ** 22 + 1}.`) ?? null;
  const owner = { ...own, process: dead === null ? null : wasSeenFrom(dead) };
  writeFileSync(join(folder, 'claims', name, 'owner.json'), formatOwner(owner));
}

function taken(claim: Claim | null): Claim {
  if (claim === null) throw new Error('the claim is held');
  return claim;
}

describe('a claim', () => {
  it('goes to one taker at a time, and to the next one after its release', () => {
    using folder = tempFolder();
    const { claims } = claimsIn(folder.path);
    const first = taken(claims.tryTake('it'));
    expect(claims.tryTake('it')).toBeNull();
    expect(claims.tryTake('something else')).not.toBeNull();
    first.release();
    const second = taken(claims.tryTake('it'));
    first.release();
    expect(claims.tryTake('it')).toBeNull();
    second.release();
  });

  it('leaves nothing behind when it is released', () => {
    using folder = tempFolder();
    const { claims } = claimsIn(folder.path);
    taken(claims.tryTake('it')).release();
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it('that a killed process left half-made is removed by the next release after a minute', () => {
    using folder = tempFolder();
    const { claims } = claimsIn(folder.path);
    const claim = taken(claims.tryTake('it'));
    const [old, young] = ['candidate-1', 'gone-2'].map((name) => join(folder.path, 'claims', name)) as [string, string];
    for (const path of [old, young]) mkdirSync(path);
    utimesSync(old, 1, 1);
    claim.release();
    expect(readdirSync(join(folder.path, 'claims'))).toEqual(['gone-2']);
  });

  it('makes the taker wait and names its owner to that taker', async () => {
    using folder = tempFolder();
    const { claims, clock } = claimsIn(folder.path);
    const first = taken(claims.tryTake('it'));
    const owners: (number | undefined)[] = [];
    const second = claims.take('it', (owner) => owners.push(owner?.pid));
    await clock.advance(500);
    first.release();
    await clock.advance(500);
    (await second).release();
    expect(owners).toEqual([process.pid, process.pid]);
  });

  it('ends the wait for it when the signal aborts', async () => {
    using folder = tempFolder();
    const { claims, stop } = claimsIn(folder.path);
    taken(claims.tryTake('it'));
    const second = claims.take('it');
    stop.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
  });

  it.skipIf(thisProcess('').process === null)('is taken over at once when its process on this machine has ended', () => {
    using folder = tempFolder();
    abandon(folder.path);
    const { claims } = claimsIn(folder.path);
    taken(claims.tryTake('it')).release();
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it('is taken over from another machine after a minute without a heartbeat', () => {
    using folder = tempFolder();
    abandon(folder.path, (identity) => `another-machine${identity}`);
    const { claims } = claimsIn(folder.path);
    expect(claims.tryTake('it')).toBeNull();
    const [name = ''] = readdirSync(join(folder.path, 'claims'));
    const before = Date.now() / 1000 - 120;
    utimesSync(join(folder.path, 'claims', name, 'owner.json'), before, before);
    expect(claims.tryTake('it')).not.toBeNull();
  });

  it('writes heartbeats while it is held', async () => {
    using folder = tempFolder();
    const { claims, clock } = claimsIn(folder.path);
    const claim = taken(claims.tryTake('it'));
    const [name = ''] = readdirSync(join(folder.path, 'claims'));
    const file = join(folder.path, 'claims', name, 'owner.json');
    utimesSync(file, 1, 1);
    await clock.advance(5000);
    // Without a heartbeat its age would still be from before 1971.
    expect(claims.tryTake('it')).toBeNull();
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ pid: process.pid });
    claim.release();
  });

  it('whose file is a pipe is judged by its age, without waiting for the pipe', () => {
    using folder = tempFolder();
    const { claims } = claimsIn(folder.path);
    claims.tryTake('it');
    const [name = ''] = readdirSync(join(folder.path, 'claims'));
    const file = join(folder.path, 'claims', name, 'owner.json');
    rmSync(file);
    execFileSync('mkfifo', [file]);
    expect(claims.tryTake('it')).toBeNull();
    utimesSync(file, 1, 1);
    expect(claims.tryTake('it')).not.toBeNull();
  });

  it.each(['', '{"half'])('whose file says %j is judged by its age', (text) => {
    using folder = tempFolder();
    const { claims } = claimsIn(folder.path);
    claims.tryTake('it');
    const [name = ''] = readdirSync(join(folder.path, 'claims'));
    const file = join(folder.path, 'claims', name, 'owner.json');
    writeFileSync(file, text);
    expect(claims.tryTake('it')).toBeNull();
    utimesSync(file, 1, 1);
    expect(claims.tryTake('it')).not.toBeNull();
  });

  it('is granted to every taker where nothing can be written', () => {
    using folder = tempFolder();
    writeFileSync(join(folder.path, 'claims'), 'a file in the way');
    const { claims } = claimsIn(folder.path);
    expect(claims.tryTake('it')).not.toBeNull();
    expect(claims.tryTake('it')).not.toBeNull();
  });

  it('is refused to a strict taker where nothing can be written, or where something else lies in its place', () => {
    using folder = tempFolder();
    const strict = openClaims(join(folder.path, 'claims'), {
      root: folder.path,
      clock: new VirtualClock(),
      signal: new AbortController().signal,
      isStrict: true,
    });
    writeFileSync(join(folder.path, 'claims'), 'a file in the way');
    expect(() => strict.tryTake('it')).toThrow('ENOTDIR');
    rmSync(join(folder.path, 'claims'));
    taken(strict.tryTake('it'));
    expect(strict.tryTake('it')).toBeNull();
    const [name = ''] = readdirSync(join(folder.path, 'claims'));
    rmSync(join(folder.path, 'claims', name), { recursive: true });
    writeFileSync(join(folder.path, 'claims', name), 'a file in the way');
    expect(() => strict.tryTake('it')).toThrow('ENOTDIR');
    expect(readdirSync(join(folder.path, 'claims'))).toEqual([name]);
    expect(claimsIn(folder.path).claims.tryTake('it')).not.toBeNull();
  });

  it.each(['before it is taken', 'while it is held'])('follows no link that replaces its folder %s', (moment) => {
    using folder = tempFolder();
    const [inside, outside] = [join(folder.path, 'run', 'claims'), join(folder.path, 'outside')];
    for (const path of [join(folder.path, 'run'), inside, outside, join(outside, 'gone-old')]) mkdirSync(path);
    utimesSync(join(outside, 'gone-old'), 1, 1);
    const exchange = () => {
      renameSync(inside, join(folder.path, 'away'));
      symlinkSync(outside, inside);
    };
    const { claims } = claimsIn(join(folder.path, 'run'));
    if (moment === 'before it is taken') exchange();
    const claim = taken(claims.tryTake('it'));
    if (moment === 'while it is held') exchange();
    claim.release();
    expect(readdirSync(outside)).toEqual(['gone-old']);
  });

  it.skipIf(process.getuid?.() === 0)('is granted to every taker in a folder of another user', () => {
    using folder = tempFolder();
    mkdirSync(join(folder.path, 'claims'));
    chmodSync(join(folder.path, 'claims'), 0o500);
    const { claims } = claimsIn(folder.path);
    expect(claims.tryTake('it')).not.toBeNull();
  });
});
