import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { processIdentity } from '../../store/disk/process-identity.ts';
import { makeSocketPlace, socketCandidates, sweepSocketFolders } from './socket-folder.ts';

describe('the folder of the socket', () => {
  it('is new, open to its owner alone, and removed after use', () => {
    using folder = tempFolder();
    const place = makeSocketPlace([folder.path], null);
    expect(statSync(dirname(place.path)).mode & 0o777).toBe(0o700);
    place.remove();
    expect(existsSync(dirname(place.path))).toBe(false);
  });

  it('is not made where the path is too long for a socket, or where the parent is missing', () => {
    using folder = tempFolder();
    const long = join(folder.path, 'x'.repeat(90));
    mkdirSync(long);
    const place = makeSocketPlace([long, '/nonexistent', folder.path], null);
    expect(dirname(dirname(place.path))).toBe(folder.path);
    place.remove();
  });

  it('fails with an error that gives the reason for each candidate when none is usable', () => {
    const long = `/tmp/${'x'.repeat(100)}`;
    expect(() => makeSocketPlace([long, '/nonexistent'], null)).toThrow(
      /^there is no place for the socket of the SDK: the path in \/tmp\/x+ would have \d+ bytes, at most \d+ are possible; \/nonexistent cannot be written \(ENOENT\)$/,
    );
  });

  it('is made first where the user asks for it', () => {
    expect(socketCandidates({ TMPDIR: '/mine', XDG_RUNTIME_DIR: 'relative' })).toEqual(['/mine', '/tmp', '/dev/shm']);
    expect(socketCandidates({ TMPDIR: '/tmp' })).toEqual(['/tmp', '/dev/shm']);
  });
});

const SELF = processIdentity('boot-1');

/** A process of this machine that has ended and was waited for. */
function deadOwner(): string {
  const { pid } = spawnSync('true');
  return (SELF ?? '').replace(/\.\d+\.\d+$/, `.${pid}.1`);
}

describe.skipIf(SELF === null)('the folders that killed supervisors leave behind', () => {
  it('are removed, with the socket in them', () => {
    using parent = tempFolder();
    const place = makeSocketPlace([parent.path], deadOwner());
    writeFileSync(place.path, '');
    sweepSocketFolders([parent.path, '/nonexistent'], SELF);
    expect(readdirSync(parent.path)).toEqual([]);
  });

  it('stay when the owner lives or is unknown, or when they contain a foreign file', () => {
    using parent = tempFolder();
    const kept = [
      makeSocketPlace([parent.path], SELF),
      makeSocketPlace([parent.path], null),
      makeSocketPlace([parent.path], 'boot-of-another-machine.1.1.1'),
      makeSocketPlace([parent.path], deadOwner()),
      makeSocketPlace([parent.path], deadOwner()),
    ].map(({ path }) => dirname(path));
    writeFileSync(join(kept[3] ?? '', 'precious'), '');
    chmodSync(kept[4] ?? '', 0o755);
    mkdirSync(join(parent.path, 'holdfast-other-thing'));
    sweepSocketFolders([parent.path], SELF);
    expect(kept.map((folder) => existsSync(folder))).toEqual([true, true, true, true, true]);
    expect(existsSync(join(kept[3] ?? '', 'precious'))).toBe(true);
  });
});
