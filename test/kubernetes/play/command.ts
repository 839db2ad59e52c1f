import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { MOST_NODES } from '../cluster/network.ts';
import type { ImageSource } from '../cluster/options.ts';
import { BASE_IMAGE, PAUSE_IMAGE } from '../cluster/runtime.ts';
import { EXAMPLE_IMAGE } from '../scenario/example.ts';

export interface Wish {
  readonly nodes: number;
  readonly images: readonly ImageSource[];
}

export const USAGE = `npm run cluster:real                          starts a real Kubernetes with two nodes, which stays until it is taken down; it has all
                                              that the example needs (kubectl apply -k examples/kubernetes), and says how to try it
npm run cluster:real -- --nodes=3             with so many nodes, 1 to ${MOST_NODES}
npm run cluster:real -- --image=NAME=FOLDER   with an image of what lies in a folder, its root: registry.example/mine:1=build/root; may be
                                              given several times. It has no entrypoint: a pod says its command, and imagePullPolicy: Never
npm run cluster:real -- down                  takes down every cluster that was started so, and what killed sessions have left
`;

/** As containerd has them: what is left out would be filled in otherwise by it than by a kubelet. */
const NAME = /^[a-z0-9][a-z0-9.-]*(:\d{1,5})?(\/[a-z0-9][a-z0-9._-]*)+:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
const TAKEN: readonly string[] = [BASE_IMAGE, PAUSE_IMAGE, EXAMPLE_IMAGE.name];
const DEFAULT_NODES = 2;

/** What was asked for of a new cluster; a text says what was not understood. */
export function wishOf(args: readonly string[]): Wish | string {
  const wish: { nodes: number; images: ImageSource[] } = { nodes: DEFAULT_NODES, images: [] };
  for (const arg of args) {
    const [, option = '', value = ''] = /^--(nodes|image)=(.*)$/s.exec(arg) ?? [];
    if (option === '') return `not understood: ${args.join(' ')}`;
    if (option === 'nodes') {
      wish.nodes = /^\d{1,2}$/.test(value) ? Number(value) : 0;
      if (wish.nodes < 1 || wish.nodes > MOST_NODES) return `${arg}: a cluster has 1 to ${MOST_NODES} nodes`;
    } else {
      const image = imageOf(value);
      if (typeof image === 'string') return `${arg}: ${image}`;
      if ([...TAKEN, ...wish.images.map(({ name }) => name)].includes(image.name)) return `${arg}: there is an image of that name already`;
      wish.images.push(image);
    }
  }
  return wish;
}

function imageOf(value: string): ImageSource | string {
  const [name = '', ...rest] = value.split('=');
  const folder = resolve(rest.join('='));
  if (!NAME.test(name)) return 'an image has its whole name, with registry and tag: registry.example/mine:1=FOLDER';
  if (rest.join('=') === '') return 'the folder is missing: registry.example/mine:1=FOLDER';
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true ? { name, content: folder } : `${folder} is not a folder`;
}
