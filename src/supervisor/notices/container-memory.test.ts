import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { containerMemory, requestedMemory } from './container-memory.ts';

function memoryOf(files: Readonly<Record<string, string>>): ReturnType<typeof containerMemory> {
  using folder = tempFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder.path, name)), { recursive: true });
    writeFileSync(join(folder.path, name), text);
  }
  return containerMemory(folder.path);
}

describe('the memory of a container', () => {
  it('has a limit and a working set, in the second version of control groups', () => {
    const files = { 'memory.max': '1000\n', 'memory.current': '900\n', 'memory.stat': 'anon 1\ninactive_file 300\nactive_file 7\n' };
    expect(memoryOf(files)).toEqual({ limitBytes: 1000, usedBytes: 600 });
  });

  it('has a limit and a working set, in the first version of control groups', () => {
    const files = {
      'memory/memory.limit_in_bytes': '1000\n',
      'memory/memory.usage_in_bytes': '900\n',
      'memory/memory.stat': 'inactive_file 1\ntotal_inactive_file 200\n',
    };
    expect(memoryOf(files)).toEqual({ limitBytes: 1000, usedBytes: 700 });
  });

  it('is unknown without a limit', () => {
    expect(memoryOf({ 'memory.max': 'max\n', 'memory.current': '900\n' })).toBeNull();
    expect(memoryOf({ 'memory/memory.limit_in_bytes': '9223372036854771712\n', 'memory/memory.usage_in_bytes': '1\n' })).toBeNull();
    expect(memoryOf({})).toBeNull();
  });

  it('is bounded by the memory request of the container if that is less, even without a limit', () => {
    using folder = tempFolder();
    writeFileSync(join(folder.path, 'memory.max'), 'max\n');
    writeFileSync(join(folder.path, 'memory.current'), '900\n');
    expect(requestedMemory(null, folder.path)).toBeNull();
    expect(requestedMemory(950, folder.path)).toEqual({ limitBytes: 950, usedBytes: 900, isRequest: true });
    writeFileSync(join(folder.path, 'memory.max'), '940\n');
    expect(requestedMemory(950, folder.path)).toEqual({ limitBytes: 940, usedBytes: 900, isRequest: false });
  });
});
