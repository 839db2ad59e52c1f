import { describe, expect, it } from 'vitest';
import type { Capabilities, Trial } from './capabilities.ts';
import { commitRule } from './commit-rule.ts';
import { FILE_SYSTEMS, identifyFileSystem } from './file-systems.ts';

const kind = (id: string) => FILE_SYSTEMS.find((entry) => entry.id === id) ?? identifyFileSystem({ magic: 0, mount: null });
const WORKS: Trial = { outcome: 'works', detail: null };
const ALL: Capabilities = {
  write: WORKS,
  remove: WORKS,
  syncFile: WORKS,
  syncFolder: WORKS,
  createExclusively: WORKS,
  renameFolder: WORKS,
  replaceFile: WORKS,
  hardLink: WORKS,
};
const without = (...names: (keyof Capabilities)[]): Capabilities => ({
  ...ALL,
  ...Object.fromEntries(names.map((name) => [name, { outcome: 'refused', detail: 'ENOTSUP' }])),
});

describe('commitRule', () => {
  it.each([
    ['ext4', null, 'rename'],
    ['xfs', null, 'rename'],
    ['btrfs', ALL, 'rename'],
    ['nfs', null, 'rename'],
    ['overlay', null, 'rename'],
    ['tmpfs', null, 'rename'],
    ['ext2', null, 'manifest-last'],
    ['gcsfuse', null, 'manifest-last'],
    ['s3fs', ALL, 'manifest-last'],
    ['mountpoint-s3', null, 'refuse'],
    ['fuse', ALL, 'manifest-last'],
    ['none of the table', ALL, 'manifest-last'],
    ['squashfs', null, 'refuse'],
    ['ext4', without('renameFolder'), 'manifest-last'],
    ['ext4', without('syncFolder'), 'manifest-last'],
    ['ext4', without('hardLink', 'replaceFile'), 'rename'],
    ['ext4', without('syncFile'), 'refuse'],
    ['s3fs', without('createExclusively'), 'refuse'],
    ['ext4', without('write', 'syncFile', 'renameFolder'), 'refuse'],
  ] as const)('decides for %s after the trial %j', (id, capabilities, protocol) => {
    const rule = commitRule({ fileSystem: kind(id), isReadOnly: false, capabilities });
    expect(rule.protocol).toBe(protocol);
    expect(rule.reason).toMatch(/^[A-Z].*\.$/);
    if (rule.protocol !== 'rename') expect(rule.wayOut).toMatch(/^[A-Z].*\.$/);
  });

  it('refuses a read-only mount', () => {
    expect(commitRule({ fileSystem: kind('ext4'), isReadOnly: true, capabilities: null }).protocol).toBe('refuse');
  });

  it('names the reason of the system', () => {
    const rule = commitRule({ fileSystem: kind('ext4'), isReadOnly: false, capabilities: without('write') });
    expect(rule.reason).toContain('ENOTSUP');
  });
});
