import type { Cluster } from '../cluster/cluster.ts';
import { BEST, type Scorer } from './scorer.ts';

const MIB = 2 ** 20;
/** A smaller image counts for nothing; each container counts for no more than the largest. */
const [LEAST, LARGEST] = [23 * MIB, 1000 * MIB] as const;

/** The images that a node has, by size, each scaled by the share of the nodes that have it. */
export const imageScores: Scorer = ({ pod }, passed, cluster) => {
  const images = pod.images.map(tagged);
  const shares = images.map((image) => shareOf(image, cluster));
  if (shares.every((share) => share === 0)) return null;
  const most = LARGEST * images.length;
  return passed.map(({ node }) => {
    let sum = 0;
    for (const [index, image] of images.entries()) sum += Math.trunc((node.images.get(image) ?? 0) * (shares[index] as number));
    return Math.trunc((BEST * (Math.min(Math.max(sum, LEAST), most) - LEAST)) / (most - LEAST));
  });
};

/** The share of nodes that have an image; images come and go with nodes only. */
function shareOf(image: string, cluster: Cluster): number {
  return cluster.nodesWithImage(image) / cluster.nodes.length;
}

/** The name under which nodes list an image. */
function tagged(image: string): string {
  return image.lastIndexOf(':') <= image.lastIndexOf('/') ? `${image}:latest` : image;
}
