import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { formatBytes } from '../src/core/bytes.ts';
import { findServers, type Server, type ServerName, startServer } from '../test/object-stores/servers.ts';
import { sealCheckpoint } from '../test/object-stores/shippable-run.ts';
import { MEMORY, tempFolder } from '../test/support/temp-folder.ts';
import { type Copier, copierEnv, findCopiers } from './support/copiers.ts';
import { measureProcess } from './support/process.ts';
import { LARGE_BYTES, roundsOr } from './support/size.ts';
import type { Bound, Suite, Variant, VariantResult } from './support/suite.ts';

const HOLDFAST = join(import.meta.dirname, '..', 'bin', 'holdfast');
const FILES = 4;
/** The original and one copy by each program must fit into memory together. */
const BYTES = Math.min(LARGE_BYTES, 2 * 2 ** 30);
const MOST_MEMORY = 300e6;
const OURS = { ship: 'holdfast ship', fetch: 'holdfast fetch' } as const;

export const shipMinio = (): Promise<Suite | string> => shipSuite('minio', 'ship');
export const shipVersitygw = (): Promise<Suite | string> => shipSuite('versitygw', 'ship');
export const fetchShippedMinio = (): Promise<Suite | string> => shipSuite('minio', 'fetch');
export const fetchShippedVersitygw = (): Promise<Suite | string> => shipSuite('versitygw', 'fetch');

type Way = 'ship' | 'fetch';

/**
 * Copies a sealed checkpoint to and from a real server on the same machine, with Holdfast and with
 * other programs.
 */
async function shipSuite(name: ServerName, way: Way): Promise<Suite | string> {
  const binaries = findServers();
  if ('reason' in binaries) return binaries.reason;
  const { copiers, missing } = findCopiers();
  const server = await startServer(binaries.folder, name, MEMORY);
  const folder = tempFolder(MEMORY);
  const bench = new ShipBench(server, folder.path);
  await bench.makeCheckpoint();
  if (way === 'fetch') await bench.shipAll(copiers);
  const variants =
    way === 'ship'
      ? [bench.ship(), ...copiers.map((each) => bench.send(each))]
      : [bench.fetch(), ...copiers.map((each) => bench.receive(each))];
  const proof =
    way === 'ship'
      ? 'Ours ends when the store has told the checksum of every object and the pointer is moved.'
      : 'Ours compares every byte with its seal; each fetches the copy that it made itself, with the checks that it then does.';
  return {
    name: `${way}, ${name}`,
    description: [
      `${formatBytes(BYTES)} in ${FILES} files, as processes, start-up included, every program with its own defaults; the server on the same cores.`,
      'Source, target and the folder of the server lie in memory, so that no disk is measured, and a sync costs nobody anything.',
      proof,
      ...missing,
    ].join(' '),
    rounds: roundsOr(5),
    reference: OURS[way],
    bytes: BYTES,
    variants,
    bounds: [...copiers.map((each) => atLeast(OURS[way], each.name)), littleMemory(OURS[way])],
    dispose: () => {
      void server[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

class ShipBench {
  readonly #server: Server;
  readonly #folder: string;
  readonly #env: readonly string[];

  constructor(server: Server, folder: string) {
    this.#server = server;
    this.#folder = folder;
    const endpoint = server.env['AWS_ENDPOINT_URL_S3'] ?? '';
    this.#env = ['env', ...Object.entries({ ...server.env, ...copierEnv(endpoint) }).map(([name, value]) => `${name}=${value}`)];
  }

  async makeCheckpoint(): Promise<void> {
    const files = Array.from({ length: FILES }, (_, index) => [`model-${index}.safetensors`, BYTES / FILES] as const);
    await sealCheckpoint(this.#run, 1, Object.fromEntries(files));
  }

  async shipAll(copiers: readonly Copier[]): Promise<void> {
    for (const { run } of [this.ship(), ...copiers.map((each) => this.send(each))]) await run();
    // Everything is on the server now.
    rmSync(this.#run, { recursive: true });
  }

  ship(): Variant {
    return this.#to(OURS.ship, 'holdfast', [HOLDFAST, 'ship', this.#run, this.#url('holdfast')]);
  }

  send(copier: Copier): Variant {
    const place = placeOf(copier);
    return this.#to(copier.name, place, copier.send(join(this.#run, 'step-1'), `${this.#server.bucket}/${place}`));
  }

  fetch(): Variant {
    return this.#from(OURS.fetch, [HOLDFAST, 'fetch', this.#url('holdfast'), this.#back]);
  }

  receive(copier: Copier): Variant {
    return this.#from(copier.name, copier.receive(`${this.#server.bucket}/${placeOf(copier)}`, this.#back));
  }

  get #run(): string {
    return join(this.#folder, 'run');
  }

  get #back(): string {
    return join(this.#folder, 'back');
  }

  #url(place: string): string {
    return `s3://${this.#server.bucket}/${place}`;
  }

  /**
   * Removes what an earlier round left, directly on the server's disk: both servers store objects
   * as files.
   */
  #to(name: string, place: string, command: readonly string[]): Variant {
    const clean = () => rmSync(join(this.#server.folder, this.#server.bucket, place), { recursive: true, force: true });
    return { name, prepare: clean, run: () => measureProcess([...this.#env, ...command]) };
  }

  #from(name: string, command: readonly string[]): Variant {
    const clean = () => {
      rmSync(this.#back, { recursive: true, force: true });
      mkdirSync(this.#back);
    };
    return { name, prepare: clean, run: () => measureProcess([...this.#env, ...command]) };
  }
}

function placeOf({ name }: Copier): string {
  return name.replaceAll(' ', '-');
}

const FACTORS: Readonly<Record<string, number>> = { 's5cmd cp': 1 };

function atLeast(ours: string, theirs: string): Bound {
  const factor = FACTORS[theirs] ?? 1.5;
  const median = (results: ReadonlyMap<string, VariantResult>, name: string) => results.get(name)?.seconds.median ?? Number.NaN;
  return {
    text: `at least ${factor.toFixed(1)} × the rate of \`${theirs}\``,
    isMet: (results) => median(results, ours) * factor <= median(results, theirs),
  };
}

function littleMemory(ours: string): Bound {
  return {
    text: 'at most 300 MB of memory',
    isMet: (results) => (results.get(ours)?.peakBytes ?? Number.POSITIVE_INFINITY) <= MOST_MEMORY,
  };
}
