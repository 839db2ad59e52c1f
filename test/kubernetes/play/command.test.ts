import { describe, expect, it } from 'vitest';
import { ROOT } from '../../support/run-process.ts';
import { wishOf } from './command.ts';

describe('what is asked for', () => {
  it('is two nodes when nothing is said, else as many as are', () => {
    expect(wishOf([])).toEqual({ nodes: 2, images: [] });
    expect(wishOf(['--nodes=50'])).toEqual({ nodes: 50, images: [] });
  });

  it('is as many images as are named, each from a folder, whose name may have any character', () => {
    const images = [`--image=registry.example/a:1=${ROOT}`, `--image=registry.example:5000/team/b:v1.2-rc=${ROOT}`];
    expect(wishOf([...images, '--nodes=1'])).toEqual({
      nodes: 1,
      images: [
        { name: 'registry.example/a:1', content: ROOT.replace(/\/$/, '') },
        { name: 'registry.example:5000/team/b:v1.2-rc', content: ROOT.replace(/\/$/, '') },
      ],
    });
    expect(wishOf([`--image=registry.example/a:1=${ROOT}/no=such`])).toContain(`${ROOT}no=such is not a folder`);
  });

  it.each([
    ['up', 'not understood: up'],
    ['--nodes=0', 'a cluster has 1 to 50 nodes'],
    ['--nodes=51', 'a cluster has 1 to 50 nodes'],
    ['--nodes=two', 'a cluster has 1 to 50 nodes'],
    [`--image=mine=${ROOT}`, 'its whole name'],
    [`--image=registry.example/mine=${ROOT}`, 'its whole name'],
    [`--image=registry.example/Mine:1=${ROOT}`, 'its whole name'],
    ['--image=registry.example/mine:1', 'the folder is missing'],
    ['--image=registry.example/mine:1=', 'the folder is missing'],
    ['--image=registry.example/mine:1=/etc/passwd', '/etc/passwd is not a folder'],
    [`--image=registry.example/holdfast-stdlib:1=${ROOT}`, 'there is an image of that name already'],
  ])('%s is refused', (arg, why) => {
    expect(wishOf([arg])).toContain(why);
    expect(wishOf(['--nodes=1', arg])).toContain(arg);
  });

  it('an image that is named twice is refused', () => {
    const image = `--image=registry.example/a:1=${ROOT}`;
    expect(wishOf([image, image])).toBe(`${image}: there is an image of that name already`);
  });
});
