/** Names that writers give to saves in flight. They are never part of a checkpoint; left behind, they mean an interrupted save. */
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

/** True for a name that only an unfinished save has. */
export function isLeftover(name: string): boolean {
  return LEFTOVERS.some((pattern) => pattern.test(name));
}
