import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { processIdentity } from '../../checkpoint/store/process-identity.ts';
import { makeSocketPlace, socketCandidates, sweepSocketFolders } from './socket-folder.ts';

describe('the place of the socket', () => {
  it('is a new folder that only its owner can enter, gone when it is not needed any more', () => {
    using folder = tempFolder();
    const place = makeSocketPlace([folder.path], null);
    expect(statSync(dirname(place.path)).mode & 0o777).toBe(0o700);
    place.remove();
    expect(existsSync(dirname(place.path))).toBe(false);
  });

  it('passes by a folder whose path is too long for a socket, and one that is not there', () => {
    using folder = tempFolder();
    const long = join(folder.path, 'x'.repeat(90));
    mkdirSync(long);
    const place = makeSocketPlace([long, '/nonexistent', folder.path], null);
    expect(dirname(dirname(place.path))).toBe(folder.path);
    place.remove();
  });

  it('is an error that says why for each candidate when there is none', () => {
    const long = `/tmp/${'x'.repeat(100)}`;
    expect(() => makeSocketPlace([long, '/nonexistent'], null)).toThrow(
      /^there is no place for the socket of the SDK: the path in \/tmp\/x+ would have \d+ bytes, at most \d+ are possible; \/nonexistent cannot be written \(ENOENT\)$/,
    );
  });

  it('is looked for where the user says first', () => {
    expect(socketCandidates({ TMPDIR: '/mine', XDG_RUNTIME_DIR: 'relative' })).toEqual(['/mine', '/tmp', '/dev/shm']);
    expect(socketCandidates({ TMPDIR: '/tmp' })).toEqual(['/tmp', '/dev/shm']);
  });
});

const SELF = processIdentity('boot-1');

/** A process of this machine that has ended and was collected. */
function deadOwner(): string {
  const { pid } = spawnSync('true');
  return (SELF ?? '').replace(/\.\d+\.\d+$/, `.${pid}.1`);
}

describe.skipIf(SELF === null)('folders that killed supervisors have left', () => {
  it('are removed, with the socket in them', () => {
    using parent = tempFolder();
    const place = makeSocketPlace([parent.path], deadOwner());
    writeFileSync(place.path, '');
    sweepSocketFolders([parent.path, '/nonexistent'], SELF);
    expect(readdirSync(parent.path)).toEqual([]);
  });

  it('stay where the owner lives or cannot be told, and where anything is in them that is not ours', () => {
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
