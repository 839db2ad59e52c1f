import type { ClusterPlace } from '../cluster/record.ts';

const DOWN = '`npm run cluster:real -- down`';

/** A message about what is left after a start that failed or was aborted. */
export function whatIsLeft(places: readonly ClusterPlace[]): string {
  if (places.length === 0) return 'Nothing of a cluster was left behind.\n';
  return `Not everything could be taken down: ${folders(places)} is left, and ${DOWN} tries again.\n`;
}

/** A message about clusters that belong to no visible process of this machine. */
export function whatIsElsewhere(places: readonly ClusterPlace[]): string {
  if (places.length === 0) return '';
  return `Left alone: ${folders(places)}, made in another container or on another machine; if nothing runs there any more, remove the folder, or run ${DOWN} there.\n`;
}

function folders(places: readonly ClusterPlace[]): string {
  return places.map(({ folder }) => folder).join(', ');
}
