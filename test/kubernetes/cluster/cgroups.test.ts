import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../support/temp-folder.ts';
import { passControllersOn, whyNotPassedOn } from './cgroups.ts';

describe('the controllers of a cgroup with version 2', () => {
  it.each([
    [
      'all that a kubelet needs, and no others',
      'cpuset cpu io memory hugetlb pids rdma misc',
      '',
      '+cpu +cpuset +hugetlb +io +memory +pids',
    ],
    ['those that are not yet', 'cpuset cpu io memory pids', 'cpu memory pids', '+cpuset +io'],
    ['those that are there', 'cpu memory', '', '+cpu +memory'],
    ['nothing when all are already, also some more', 'cpu memory rdma', 'cpu memory rdma', 'cpu memory rdma\n'],
    ['nothing when there are none', '', '', '\n'],
  ])('are passed on: %s', (_, own, passedOn, written) => {
    using folder = tempFolder();
    const control = join(folder.path, 'cgroup.subtree_control');
    writeFileSync(join(folder.path, 'cgroup.controllers'), `${own}\n`);
    writeFileSync(control, `${passedOn}\n`);
    passControllersOn(folder.path);
    expect(readFileSync(control, 'utf8')).toBe(written);
  });

  it.each([
    ['EBUSY', ' (EBUSY) while processes are in it, as in a container with a root of its own: start the container with the machine'],
    ['EINVAL', " (EINVAL) while real-time processes are in another cgroup than the machine's root: move them there"],
    ['EROFS', ': the kernel said EROFS'],
  ])('that are not passed on are told, with the rule and the way out (%s)', (code, rule) => {
    const why = whyNotPassedOn('/sys/fs/cgroup', ['cpu', 'memory'], Object.assign(new Error(`the kernel said ${code}`), { code }));
    expect(why).toContain(`a cluster needs /sys/fs/cgroup to pass on the controllers cpu, memory, and the kernel refuses it${rule}`);
  });
});
