import { expect, it } from 'vitest';
import { bundleProgram } from './bundle.ts';

/** What talks to a cluster or keeps a database, in our folders, in packages and in Node.js. */
const FORBIDDEN = /\/src\/(?:kube|operator|queue|scheduler|why|whatif|lint)\/|\/node_modules\/(?!yaml\/)|^node:(?:sqlite|http2|cluster)$/;

it('holdfast-run holds what run needs, and neither a Kubernetes client nor a database', async () => {
  const { modules } = await bundleProgram('holdfast-run');
  expect(modules.some((module) => module.endsWith('/src/supervisor/run/supervise.ts'))).toBe(true);
  expect(modules.filter((module) => FORBIDDEN.test(module))).toEqual([]);
});

it('the whole program holds both, so that the test of holdfast-run can fail', async () => {
  const { modules } = await bundleProgram('holdfast');
  for (const part of ['/node_modules/@kubernetes/client-node/', '/node_modules/pg/', '/src/operator/', 'node:sqlite']) {
    expect(
      modules.some((module) => module.includes(part) && FORBIDDEN.test(module)),
      part,
    ).toBe(true);
  }
});
