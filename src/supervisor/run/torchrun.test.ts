import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { torchrunWarning } from './torchrun.ts';

/** A folder like a Python environment with a torch whose launcher has this text. */
function environment(root: string, launcher: string): string {
  const library = join(root, 'lib/python3.12/site-packages/torch/distributed/launcher');
  mkdirSync(library, { recursive: true });
  writeFileSync(join(library, 'api.py'), launcher);
  const bin = join(root, 'bin');
  mkdirSync(bin);
  for (const name of ['torchrun', 'python']) {
    writeFileSync(join(bin, name), '#!/bin/sh\n');
    chmodSync(join(bin, name), 0o755);
  }
  return bin;
}

describe('the warning about torchrun', () => {
  const OLD = 'timeout = 30';
  const NEW = 'os.environ.get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "30")';

  it.each([
    ['with an old torchrun and a longer grace', OLD, ['torchrun', 'train.py'], 60_000, true],
    ['with an old torchrun as a module', OLD, ['python', '-m', 'torch.distributed.run', 'train.py'], 60_000, true],
    ['with an old torchrun behind env', OLD, ['env', 'A=1', 'torchrun', 'train.py'], 60_000, true],
    ['with an old torchrun and a short grace', OLD, ['torchrun', 'train.py'], 30_000, false],
    ['with a new torchrun', NEW, ['torchrun', 'train.py'], 60_000, false],
    ['without torchrun', OLD, ['python', 'train.py'], 60_000, false],
  ])('%s', (_, launcher, command, graceMs, isWarned) => {
    using folder = tempFolder();
    const path = environment(folder.path, launcher);
    expect(torchrunWarning(command, graceMs, path) !== null).toBe(isWarned);
  });

  it('is not printed when the launcher cannot be found', () => {
    expect(torchrunWarning(['/nonexistent/torchrun', 'train.py'], 60_000, '/nonexistent')).toBeNull();
  });
});
