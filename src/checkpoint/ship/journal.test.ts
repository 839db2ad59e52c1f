import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { openJournal } from './journal.ts';

describe('the journal of uploads', () => {
  it('tells the next process what was begun and not ended, for each address', () => {
    using folder = tempFolder();
    mkdirSync(join(folder.path, '.holdfast'));
    const journal = openJournal(folder.path, 's3://bucket/prefix');
    journal.begin('step-1/a', 'step-1');
    journal.begin('step-1/b', 'step-1');
    journal.end('step-1/a');
    expect(openJournal(folder.path, 's3://bucket/prefix').open()).toMatchObject([{ key: 'step-1/b', of: 'step-1' }]);
    expect(openJournal(folder.path, 's3://bucket/other').open()).toEqual([]);
  });

  it('leaves nothing of an upload that has ended, also not what a killed process was writing', () => {
    using folder = tempFolder();
    mkdirSync(join(folder.path, '.holdfast'));
    const shipping = join(folder.path, '.holdfast', 'shipping');
    const journal = openJournal(folder.path, 's3://bucket/prefix');
    journal.begin('step-1/a', 'step-1');
    const [name = ''] = readdirSync(shipping);
    writeFileSync(join(shipping, `${name}.0b5f.tmp`), '{"ur');
    journal.begin('step-1/a', 'step-1');
    journal.end('step-1/a');
    expect(readdirSync(shipping)).toEqual([]);
  });
});
