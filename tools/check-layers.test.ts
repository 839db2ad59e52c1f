import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../test/support/temp-folder.ts';
import { checkLayers } from './check-layers.ts';

const check = (files: Readonly<Record<string, string>>): string[] => {
  using root = tempFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root.path, name)), { recursive: true });
    writeFileSync(join(root.path, name), text);
  }
  return checkLayers(root.path).map(({ file, line, message }) => `${file}:${line}: ${message}`);
};

describe('the layers', () => {
  it('accept the current sources', () => {
    expect(checkLayers(join(import.meta.dirname, '..'))).toEqual([]);
  });

  it('allow imports downwards, inside a folder, of packages, and anything in tests', () => {
    const files = {
      'src/cli/frame/run-cli.ts': `import { a } from '../../verify/verify.ts';\nimport { b } from './parse.ts';\nimport { join } from 'node:path';`,
      'src/drill/drill.ts': `import { a } from '../kube/api.ts';\nexport * from '../supervisor/run.ts';`,
      'src/store/commit/save.ts': `import type { A } from '../disk/a.ts';`,
      'src/core/clock.test.ts': `import { a } from '../cli/run.ts';\nimport { b } from '../../test/support/x.ts';`,
      'src/cli/frame/version.ts': `new URL('../../../package.json', import.meta.url)`,
    };
    expect(check(files)).toEqual([]);
  });

  it.each([
    ['upwards', 'src/core/a.ts', `import { x } from '../verify/x.ts';`, 'core imports from verify, which stands above it'],
    ['upwards, types only', 'src/core/a.ts', `import type { X } from '../cli/x.ts';`, 'core imports from cli, which stands above it'],
    [
      'upwards, over several lines',
      'src/domain/grace/a.ts',
      `import {\n  x,\n} from '../../kube/x.ts';`,
      'domain imports from kube, which stands above it',
    ],
    [
      'upwards, when it runs',
      'src/domain/grace/a.ts',
      `await import('../../queue/x.ts');`,
      'domain imports from queue, which stands above it',
    ],
    ['upwards, for its effect', 'src/domain/grace/a.ts', `import '../../queue/x.ts';`, 'domain imports from queue, which stands above it'],
    [
      'upwards, as a worker',
      'src/core/a.ts',
      `new Worker(new URL('../queue/x.ts', import.meta.url))`,
      'core imports from queue, which stands above it',
    ],
    ['upwards, by a re-export', 'src/core/a.ts', `export { x } from '../cli/x.ts';`, 'core imports from cli, which stands above it'],
    ['sideways', 'src/demo/a.ts', `import { x } from '../grace/x.ts';`, 'demo imports from grace, its sibling'],
    [
      'upwards inside a folder, types only',
      'src/store/disk/a.ts',
      `import type { X } from '../commit/x.ts';`,
      'store/disk imports from store/commit, which stands above it',
    ],
    ['sideways inside a folder', 'src/remote/copy/a.ts', `import '../fetch/x.ts';`, 'remote/copy imports from remote/fetch, its sibling'],
    [
      'of an inner folder without a place',
      'src/store/disk/a.ts',
      `import '../misc/x.ts';`,
      'imports from src/store/misc, which is in no layer',
    ],
    ['of itself through itself', 'src/core/a.ts', `import type { A } from './a.ts';`, 'is part of a cycle: core/a.ts -> core/a.ts'],
    [
      'of what makes the supervisor large',
      'src/supervisor/run/a.ts',
      `import { x } from '../../kube/x.ts';`,
      'supervisor imports from kube: the supervisor runs in every',
    ],
    [
      'of what is not published',
      'src/cli/a.ts',
      `import { x } from '../../test/support/x.ts';`,
      'imports test/support/x.ts, which is outside of src',
    ],
    ['of a folder without a place', 'src/cli/a.ts', `import { x } from '../misc/x.ts';`, 'imports from src/misc, which is in no layer'],
  ])('refuse an import %s', (_, file, text, message) => {
    expect(check({ [file]: text })).toEqual([expect.stringContaining(`: ${message}`)]);
  });

  it('refuse a folder that has no place', () => {
    expect(check({ 'src/helpers/a.ts': '' })).toEqual([
      'src/helpers/a.ts:1: src/helpers is in no layer: give it a line in tools/layers.ts',
    ]);
  });

  it('refuse a folder inside a folder that has no place', () => {
    expect(check({ 'src/store/helpers/a.ts': '' })).toEqual([
      'src/store/helpers/a.ts:1: src/store/helpers is in no layer of src/store: give it a line in tools/layers.ts',
    ]);
    expect(check({ 'src/core/helpers/a.ts': '' })).toEqual([
      'src/core/helpers/a.ts:1: src/core/helpers is in no layer of src/core: give it a line in tools/layers.ts',
    ]);
  });

  it('refuse a cycle of files, types only', () => {
    const files = {
      'src/core/a.ts': `import type { B } from './b.ts';`,
      'src/core/b.ts': `import { c } from './c.ts';`,
      'src/core/c.ts': `\nimport type { A } from './a.ts';`,
    };
    expect(check(files)).toEqual(['src/core/a.ts:1: is part of a cycle: core/a.ts -> core/b.ts -> core/c.ts -> core/a.ts']);
  });

  it('fail the command that npm run check runs', () => {
    using root = tempFolder();
    mkdirSync(join(root.path, 'src/core'), { recursive: true });
    writeFileSync(join(root.path, 'src/core/a.ts'), `\nimport { x } from '../cli/x.ts';\n`);
    const { status, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, 'check-layers.ts'), root.path], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([1, 'src/core/a.ts:2: core imports from cli, which stands above it (tools/layers.ts)\n']);
  });
});
