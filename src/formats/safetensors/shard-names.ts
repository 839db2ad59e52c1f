import { isLeftover } from '../reading/save-leftovers.ts';

/** A file whose name marks it as one of several: `model-00001-of-00003.safetensors`. */
export interface ShardName {
  /** The common part of all shard names of the save: `model.safetensors`. */
  readonly group: string;
  readonly number: number;
  readonly total: number;
}

const SHARD = /^(.+)-(\d{5})-of-(\d{5})\.(safetensors|bin)$/;
/**
 * Shards of a distributed save in which every rank writes its own part carry the rank in front and
 * have no index.
 */
const RANK_SHARD = /^shard-\d{5}-/;
const INDEX = /^(.+)\.(safetensors|bin)\.index(?:\.([\w-]+))?\.json$/;

/** Reads the number and total from a shard's name; returns null for any other name. */
export function parseShardName(name: string): ShardName | null {
  const match = SHARD.exec(name);
  if (match === null || RANK_SHARD.test(name) || isLeftover(name)) return null;
  const [, stem, number, total, extension] = match;
  return { group: `${stem}.${extension}`, number: Number(number), total: Number(total) };
}

/**
 * Returns the group an index belongs to, or null when the name does not belong to an index. A
 * variant (`fp16`) becomes part of the stem, as in the shards.
 */
export function groupOfIndex(name: string): string | null {
  const match = INDEX.exec(name);
  if (match === null) return null;
  const [, stem, extension, variant] = match;
  return variant === undefined ? `${stem}.${extension}` : `${stem}.${variant}.${extension}`;
}
