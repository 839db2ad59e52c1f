import { copyFileSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { toError } from '../../../src/core/errors.ts';
import type { KubeApi } from './api.ts';
import { Box, type Daemon } from './box.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { type Facility, cacheFolder, findFacility, whyNoLoopDevice } from './facility.ts';
import { fillBaseImage, writeImage } from './image.ts';
import { inParallel } from './in-parallel.ts';
import { inotifyFor, inotifyNow, whenInotifyIsFree, whyInotifyIsShort } from './inotify.ts';
import { cgroupOf, claimPlace, promisedInotify, recordHolder, removeCluster, removeLeftovers, settle } from './leftovers.ts';
import { MOST_NODES, nodeIp, prepareNetwork } from './network.ts';
import { type ClusterNode, startNode, whenReady } from './node.ts';
import type { ClusterOptions, ImageSource } from './options.ts';
import type { ClusterPlace } from './record.ts';
import { roomAt, whyRoomIsShort } from './room.ts';
import { BASE_IMAGE, PAUSE_IMAGE } from './runtime.ts';

/** The kernel limits the path of a socket file, whatever the file system allows. */
const LONGEST_SOCKET = 100;
/** Each start mostly waits for its own daemons. */
const NODES_AT_A_TIME = 4;

/** A real Kubernetes cluster, until it is disposed of. */
export interface Cluster extends AsyncDisposable {
  readonly id: string;
  readonly version: string;
  readonly folder: string;
  readonly api: KubeApi;
  readonly nodes: readonly ClusterNode[];
  /** A folder on the machine that pods of all nodes can mount as a hostPath. */
  readonly shared: string;
  /** The command line that runs a command in the cluster's namespaces. */
  inside(command: readonly string[]): readonly string[];
  /**
   * The command line that runs a command in the cluster's network, with the machine's files and in
   * the caller's folder.
   */
  inNetwork(command: readonly string[]): readonly string[];
  /** Runs a command in the cluster's namespaces until it ends, and returns its output. */
  run(command: readonly string[]): Promise<string>;
  /** Starts one more daemon of the facility, which ends with the cluster. */
  start(program: string, args: readonly string[]): Daemon;
  /** The path of an administrator's kubeconfig, for any client in the cluster's network. */
  readonly kubeconfig: string;
  /** The kubectl command, as it is called inside the box. */
  readonly kubectlCommand: readonly string[];
  /**
   * Call this for a cluster to keep, when all of it is ready. From then on it stays after this
   * process has ended, however that ends.
   */
  settle(): void;
}

/**
 * Starts a cluster, after removing what killed sessions have left. If it fails or is aborted,
 * nothing stays.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const nodes = options.nodes ?? [{}, {}];
  if (nodes.length > MOST_NODES) throw new Error(`a cluster has at most ${MOST_NODES} nodes, not ${nodes.length}`);
  const facility = findFacility(options.release);
  await removeLeftovers();
  const short = whyRoomIsShort(roomAt(cacheFolder()), nodes.length) ?? whyNoLoopDevice();
  if (short !== null) throw new Error(short);
  const place = claimPlace({ isKept: options.isKept ?? false, inotify: inotifyFor(nodes.length) });
  try {
    await whenInotifyIsFree(nodes.length, { promised: () => promisedInotify(place), signal: options.signal });
    return await startIn(place, facility, { ...options, nodes });
  } catch (thrown) {
    // Counted before the leftovers return their instances.
    const noInotify = whyInotifyIsShort(inotifyNow());
    const notRemoved = await removeCluster(place).then(
      () => null,
      (error: unknown) => toError(error).message,
    );
    const more = [noInotify, notRemoved].filter((text) => text !== null);
    throw more.length === 0 ? thrown : new Error([toError(thrown).message, ...more].join('\n'), { cause: thrown });
  }
}

async function startIn(
  place: ClusterPlace,
  facility: Facility,
  options: ClusterOptions & Required<Pick<ClusterOptions, 'nodes'>>,
): Promise<Cluster> {
  const { nodes, signal, isKept = false } = options;
  const at = (name: string): string => join(place.folder, name);
  if (at('control-plane/api.sock').length > LONGEST_SOCKET) throw new Error(`${place.folder} is too long for a socket: set HOLDFAST_CACHE`);
  const shared = at('shared');
  for (const folder of [shared, at('leases')]) mkdirSync(folder);
  const images = await writeImages(facility, at('images'), options.images ?? []);
  const imagesMiB = Math.ceil(images.reduce((bytes, archive) => bytes + statSync(archive).size, 0) / 2 ** 20);
  const short = whyRoomIsShort(roomAt(place.folder), nodes.length, imagesMiB);
  if (short !== null) throw new Error(short);
  const prepare = prepareNetwork(nodes.length);
  const whenHeld = (holder: Box['holder']): void => recordHolder(place, holder);
  const box = await Box.make({ folder: place.folder, init: [facility.program('pause')], prepare, isKept, whenHeld });
  const names = nodes.map((_, index) => `node-${index + 1}`);
  const controlPlane = await startControlPlane({ ...options, box, facility, folder: at('control-plane'), nodes: names });
  const started = await startNodes({ box, facility, place, controlPlane, images, options });
  signal?.throwIfAborted();
  if (!isKept) settle(place);
  return {
    id: place.id,
    version: facility.version,
    folder: place.folder,
    api: controlPlane.api,
    nodes: started,
    shared,
    inside: (command) => box.inside(command),
    inNetwork: (command) => box.inNetwork(command),
    run: (command) => box.run(command),
    start: (program, args) => box.start(program, [facility.program(program), ...args]),
    kubeconfig: controlPlane.kubeconfig,
    kubectlCommand: [facility.program('kubectl'), `--kubeconfig=${controlPlane.kubeconfig}`, `--cache-dir=${at('kubectl-cache')}`],
    settle: () => settle(place),
    [Symbol.asyncDispose]: () => removeCluster(place),
  };
}

interface NodesStart {
  readonly box: Box;
  readonly facility: Facility;
  readonly place: ClusterPlace;
  readonly controlPlane: ControlPlane;
  readonly images: readonly string[];
  readonly options: ClusterOptions & Required<Pick<ClusterOptions, 'nodes'>>;
}

async function startNodes({ box, facility, place, controlPlane, images, options }: NodesStart): Promise<readonly ClusterNode[]> {
  const started = new Map<number, ClusterNode>();
  await inParallel([...options.nodes.entries()], NODES_AT_A_TIME, async ([index, own]) => {
    const name = `node-${index + 1}`;
    const folder = join(place.folder, name);
    const node = await startNode({
      box,
      facility,
      place: { name, folder, disk: join(folder, 'disk') },
      ip: nodeIp(index),
      cgroup: `${cgroupOf(place.id)}/${name}`,
      leases: join(place.folder, 'leases'),
      images,
      kubeconfig: controlPlane.nodeKubeconfig(name),
      options: own,
      signal: options.signal,
    });
    await whenReady(controlPlane.api, node, options.signal);
    started.set(index, node);
  });
  return options.nodes.map((_, index) => started.get(index)).filter((node) => node !== undefined);
}

/** Writes the archives of all images that the nodes have. */
async function writeImages(facility: Facility, folder: string, more: readonly ImageSource[]): Promise<string[]> {
  const fillPause = (path: string): void => copyFileSync(facility.program('pause'), join(path, 'pause'));
  const fillBase = (path: string): void => fillBaseImage(path, facility.unpacked('bin/busybox'));
  const all = [{ name: PAUSE_IMAGE, content: fillPause, entrypoint: ['/pause'] }, { name: BASE_IMAGE, content: fillBase }, ...more];
  const archives: string[] = [];
  for (const [index, { content, ...image }] of all.entries()) {
    const [own, archive] = [join(folder, String(index)), join(folder, `${index}.tar`)];
    mkdirSync(own, { recursive: true });
    if (typeof content !== 'string') await content(own);
    writeImage({ ...image, folder: typeof content === 'string' ? content : own, archive });
    archives.push(archive);
  }
  return archives;
}
