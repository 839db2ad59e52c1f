import { statSync } from 'node:fs';

const GROUP_WRITES = 0o020;
const SET_GROUP = 0o2000;

/**
 * The mode of a new file in this folder that may hold what others must not read: 0600, or 0640
 * where a group shares the folder (it may write there, or files inherit its group).
 */
export function privateMode(folder: string): number {
  try {
    return (statSync(folder).mode & (GROUP_WRITES | SET_GROUP)) === 0 ? 0o600 : 0o640;
  } catch {
    return 0o600;
  }
}
