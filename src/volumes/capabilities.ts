import { closeSync, existsSync, fsyncSync, linkSync, mkdirSync, openSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemCode } from '../core/errors.ts';
import { readText } from '../core/read-text.ts';

/**
 * The result of an attempt: it worked, the system refused, or the system accepted it and did
 * something else.
 */
export interface Trial {
  readonly outcome: 'works' | 'refused' | 'wrong' | 'not-tried';
  /** The system's error code, or the failure. */
  readonly detail: string | null;
}

/** The results of real attempts. A rename that works is not necessarily atomic. */
export interface Capabilities {
  readonly write: Trial;
  readonly remove: Trial;
  readonly syncFile: Trial;
  readonly syncFolder: Trial;
  readonly createExclusively: Trial;
  readonly renameFolder: Trial;
  readonly replaceFile: Trial;
  readonly hardLink: Trial;
}

const WORKS: Trial = { outcome: 'works', detail: null };
const NOT_TRIED: Trial = { outcome: 'not-tried', detail: null };

/** No attempt was possible, because a folder could not be made. */
export function unwritable(code: string): Capabilities {
  const write: Trial = { outcome: 'refused', detail: code };
  const rest = { syncFile: NOT_TRIED, syncFolder: NOT_TRIED, createExclusively: NOT_TRIED, renameFolder: NOT_TRIED };
  return { write, remove: NOT_TRIED, ...rest, replaceFile: NOT_TRIED, hardLink: NOT_TRIED };
}

/**
 * Tries the operations of a save in an empty folder. Leaves files behind: the caller removes the
 * folder.
 */
export function tryCapabilities(folder: string): Capabilities {
  const at = (name: string): string => join(folder, name);
  return {
    write: trial(() => {
      writeFileSync(at('written'), 'holdfast', { flag: 'wx' });
      return readText(at('written')) === 'holdfast' ? null : 'what was read is not what was written';
    }),
    remove: trial(() => {
      writeFileSync(at('removed'), '');
      unlinkSync(at('removed'));
      return existsSync(at('removed')) ? 'it is still there' : null;
    }),
    syncFile: trial(() => sync(at('written'))),
    syncFolder: trial(() => sync(folder)),
    createExclusively: trial(() => {
      writeFileSync(at('exclusive'), '', { flag: 'wx' });
      return secondCreate(at('exclusive'));
    }),
    renameFolder: trial(() => {
      mkdirSync(at('before'));
      writeFileSync(at('before/file'), 'holdfast');
      renameSync(at('before'), at('after'));
      if (existsSync(at('before'))) return 'the old name is still there';
      return readText(at('after/file')) === 'holdfast' ? null : 'the folder came without its file';
    }),
    replaceFile: trial(() => {
      writeFileSync(at('old'), 'old');
      writeFileSync(at('new'), 'new');
      renameSync(at('new'), at('old'));
      return readText(at('old')) === 'new' ? null : 'the old file is still there';
    }),
    hardLink: trial(() => {
      writeFileSync(at('first'), '');
      linkSync(at('first'), at('second'));
      return statSync(at('second')).ino === statSync(at('first')).ino ? null : 'the link is a copy';
    }),
  };
}

/** Runs one attempt; it returns the failure, or null. */
function trial(attempt: () => string | null): Trial {
  try {
    const wrong = attempt();
    return wrong === null ? WORKS : { outcome: 'wrong', detail: wrong };
  } catch (thrown) {
    const code = systemCode(thrown);
    if (code === null) throw thrown;
    return { outcome: 'refused', detail: code };
  }
}

function sync(path: string): null {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return null;
}

function secondCreate(path: string): string | null {
  try {
    writeFileSync(path, '', { flag: 'wx' });
    return 'a second creation of the same file was accepted';
  } catch (thrown) {
    if (systemCode(thrown) === 'EEXIST') return null;
    throw thrown;
  }
}
