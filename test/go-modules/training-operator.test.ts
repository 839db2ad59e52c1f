import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { lint } from '../../src/lint/lint.ts';
import { ROOT } from '../support/run-process.ts';

/** The Training Operator as a Go module, with its manifests and scripts. */
const MODULE = 'github.com/kubeflow/training-operator@v1.9.4';
const REVIEWED = join(ROOT, 'test/fixtures/lint-training-operator.json');
const hasGo = spawnSync('go', ['version']).status === 0;

/** The folder of the module in Go's cache; Go downloads it there if it is missing. */
function downloadModule(): string {
  // Away from the tree, so that no go.mod nearby is taken into account.
  const { stdout, stderr } = spawnSync('go', ['mod', 'download', '-json', MODULE], { cwd: '/', encoding: 'utf8' });
  const { Dir: folder, Error: reason } = JSON.parse(stdout) as { readonly Dir?: string; readonly Error?: string };
  if (folder === undefined) throw new Error(`Go cannot download ${MODULE}: ${reason ?? stderr}`);
  return folder;
}

describe.skipIf(!hasGo)(`the files of the Training Operator${hasGo ? '' : ' (skipped: there is no go)'}`, () => {
  let root = '';
  beforeAll(() => {
    root = downloadModule();
  });

  it('have exactly the reviewed findings, and lint understands every file', () => {
    const paths = globSync(['**/*.yaml', '**/*.yml', '**/*.py'], { cwd: root }).sort();
    const { findings, skips } = lint(
      paths.map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') })),
      { codes: null, saveMs: null },
    );
    expect(skips).toEqual([]);
    const recorded = JSON.parse(readFileSync(REVIEWED, 'utf8')) as Record<string, { reviewed: string; places: string[] }>;
    const found = Map.groupBy(findings, ({ code }) => code);
    expect([...found].map(([code, all]) => [code, all.map(({ path, start }) => `${path}:${start.line}`)]).sort()).toEqual(
      Object.entries(recorded)
        .map(([code, { places }]) => [code, places])
        .sort(),
    );
    for (const { reviewed } of Object.values(recorded)) expect(reviewed).toMatch(/^true\b/);
  });
});
