import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { MOST_NODES } from '../cluster/network.ts';
import { type ImageSource, RELEASES, type Release } from '../cluster/options.ts';
import { BASE_IMAGE, PAUSE_IMAGE } from '../cluster/runtime.ts';
import { EXAMPLE_IMAGE } from '../scenario/example.ts';

export interface Wish {
  readonly nodes: number;
  readonly images: readonly ImageSource[];
  readonly release: Release;
  readonly gates: Readonly<Record<string, boolean>>;
  readonly apis: readonly string[];
}

export const USAGE = `npm run cluster:real                          starts a real Kubernetes with two nodes, which stays until it is taken down; it has all
                                              that the example needs (kubectl apply -k examples/kubernetes), and says how to try it
npm run cluster:real -- --nodes=3             with so many nodes, 1 to ${MOST_NODES}
npm run cluster:real -- --image=NAME=FOLDER   with an image of what lies in a folder, its root: registry.example/mine:1=build/root; may be
                                              given several times. It has no entrypoint: a pod says its command, and imagePullPolicy: Never
npm run cluster:real -- --kubernetes=1.37     of that release (${RELEASES.join(', ')}); the first time it is built, which takes minutes
npm run cluster:real -- --gate=NAME=true      with a feature gate of the control plane on, or off; may be given several times
npm run cluster:real -- --api=GROUP/VERSION   with an API that is off by default: scheduling.k8s.io/v1beta1; may be given several times
npm run cluster:real -- down                  takes down every cluster that was started so, and what killed sessions have left
`;

/**
 * Full image names, as containerd stores them. It would complete a partial name differently from a
 * kubelet.
 */
const NAME = /^[a-z0-9][a-z0-9.-]*(:\d{1,5})?(\/[a-z0-9][a-z0-9._-]*)+:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
const TAKEN: readonly string[] = [BASE_IMAGE, PAUSE_IMAGE, EXAMPLE_IMAGE.name];
const DEFAULT_NODES = 2;

/** The parsed wish for a new cluster, or a text with the part that was not understood. */
export function wishOf(args: readonly string[]): Wish | string {
  const wish: Wish = { nodes: DEFAULT_NODES, images: [], release: RELEASES[0], gates: {}, apis: [] };
  for (const arg of args) {
    const [, option = '', value = ''] = /^--([a-z]+)=(.*)$/s.exec(arg) ?? [];
    const read = Object.hasOwn(OPTIONS, option) ? OPTIONS[option as keyof typeof OPTIONS] : null;
    if (read === null) return `not understood: ${args.join(' ')}`;
    const more = read(value, wish);
    if (typeof more === 'string') return `${arg}: ${more}`;
    Object.assign(wish, more);
  }
  return wish;
}

/** What an option adds to a wish, or why it cannot. */
type ReadOption = (value: string, wish: Wish) => Partial<Wish> | string;

const OPTIONS = {
  nodes(value) {
    const nodes = /^\d{1,2}$/.test(value) ? Number(value) : 0;
    return nodes < 1 || nodes > MOST_NODES ? `a cluster has 1 to ${MOST_NODES} nodes` : { nodes };
  },
  image(value, { images }) {
    const image = imageOf(value);
    if (typeof image === 'string') return image;
    const isTaken = [...TAKEN, ...images.map(({ name }) => name)].includes(image.name);
    return isTaken ? 'there is an image of that name already' : { images: [...images, image] };
  },
  kubernetes(value) {
    const release = RELEASES.find((each) => each === value);
    return release === undefined ? `there are the releases ${RELEASES.join(', ')}` : { release };
  },
  gate(value, { gates }) {
    const [, name = '', isOn = ''] = /^([A-Za-z0-9]+)=(true|false)$/.exec(value) ?? [];
    return name === '' ? 'a gate is on or off: GenericWorkload=true' : { gates: { ...gates, [name]: isOn === 'true' } };
  },
  api(value, { apis }) {
    return /^[a-z0-9.-]+\/v\d[a-z0-9]*$/.test(value)
      ? { apis: [...apis, value] }
      : 'an API has a group and a version: scheduling.k8s.io/v1beta1';
  },
} as const satisfies Readonly<Record<string, ReadOption>>;

function imageOf(value: string): ImageSource | string {
  const [name = '', ...rest] = value.split('=');
  const folder = resolve(rest.join('='));
  if (!NAME.test(name)) return 'an image has its whole name, with registry and tag: registry.example/mine:1=FOLDER';
  if (rest.join('=') === '') return 'the folder is missing: registry.example/mine:1=FOLDER';
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true ? { name, content: folder } : `${folder} is not a folder`;
}
