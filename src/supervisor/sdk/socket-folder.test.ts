import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { makeSocketPlace, socketCandidates } from './socket-folder.ts';

describe('the place of the socket', () => {
  it('is a new folder that only its owner can enter, gone when it is not needed any more', () => {
    using folder = tempFolder();
    const place = makeSocketPlace([folder.path]);
    expect(statSync(dirname(place.path)).mode & 0o777).toBe(0o700);
    place.remove();
    expect(existsSync(dirname(place.path))).toBe(false);
  });

  it('passes by a folder whose path is too long for a socket, and one that is not there', () => {
    using folder = tempFolder();
    const long = join(folder.path, 'x'.repeat(90));
    mkdirSync(long);
    const place = makeSocketPlace([long, '/nonexistent', folder.path]);
    expect(dirname(dirname(place.path))).toBe(folder.path);
    place.remove();
  });

  it('is an error that says why for each candidate when there is none', () => {
    const long = `/tmp/${'x'.repeat(100)}`;
    expect(() => makeSocketPlace([long, '/nonexistent'])).toThrow(
      /^there is no place for the socket of the SDK: the path in \/tmp\/x+ would have \d+ bytes, at most \d+ are possible; \/nonexistent cannot be written \(ENOENT\)$/,
    );
  });

  it('is looked for where the user says first', () => {
    expect(socketCandidates({ TMPDIR: '/mine', XDG_RUNTIME_DIR: 'relative' })).toEqual(['/mine', '/tmp', '/dev/shm']);
    expect(socketCandidates({ TMPDIR: '/tmp' })).toEqual(['/tmp', '/dev/shm']);
  });
});
