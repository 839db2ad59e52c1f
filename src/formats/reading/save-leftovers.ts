/**
 * Names that writers give to saves in flight. They are never part of a checkpoint; left behind,
 * they mean an interrupted save.
 */
const LEFTOVERS: readonly RegExp[] = [
  /^\.tmp/i,
  /\.tmp(\.|-|_|$)/i,
  /(^|[._-])tmp-?checkpoint/i,
  /\.orbax-checkpoint-tmp/,
  /^checkpoint_tmp$/,
  /\.dirty\.pt$/,
  /_temp(_[0-9a-f]+)?$/,
  /\.incomplete$/,
  /\.__lock$/,
  /\.partial$/,
  /\.part$/,
];

/** What every such name contains; almost no other does. */
const TELLING = /tmp|temp|dirty|incomplete|lock|part/i;

/** True for a name that only an unfinished save has. */
export function isLeftover(name: string): boolean {
  return TELLING.test(name) && LEFTOVERS.some((pattern) => pattern.test(name));
}

/** True when a part of the path is such a name. */
export function isLeftoverPath(path: string): boolean {
  return TELLING.test(path) && path.split('/').some(isLeftover);
}
