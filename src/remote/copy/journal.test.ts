import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { openJournal } from './journal.ts';

describe('the journal of uploads', () => {
  it('gives the next process the uploads that were started and not finished, for each address', () => {
    using folder = tempFolder();
    mkdirSync(join(folder.path, '.holdfast'));
    const journal = openJournal(folder.path, 's3://bucket/prefix');
    journal.begin('step-1/a', 'step-1');
    journal.begin('step-1/b', 'step-1');
    journal.end('step-1/a');
    expect(openJournal(folder.path, 's3://bucket/prefix').open()).toMatchObject([{ key: 'step-1/b', of: 'step-1' }]);
    expect(openJournal(folder.path, 's3://bucket/other').open()).toEqual([]);
  });

  it('keeps nothing of an upload that has ended or that a killed process was writing', () => {
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

  it.each(['.holdfast', '.holdfast/shipping'])('writes and deletes nothing where %s is a link to another folder', (place) => {
    using folder = tempFolder();
    using elsewhere = tempFolder();
    mkdirSync(join(elsewhere.path, '.holdfast/shipping'), { recursive: true });
    const other = openJournal(elsewhere.path, 's3://bucket/prefix');
    other.begin('step-1/a', 'step-1');
    if (place !== '.holdfast') mkdirSync(join(folder.path, '.holdfast'));
    symlinkSync(join(elsewhere.path, place), join(folder.path, place));
    const journal = openJournal(folder.path, 's3://bucket/prefix');
    journal.begin('step-1/b', 'step-1');
    journal.end('step-1/a');
    expect(journal.open()).toEqual([]);
    expect(other.open()).toEqual([{ key: 'step-1/a', of: 'step-1', url: 's3://bucket/prefix', value: null }]);
  });
});
