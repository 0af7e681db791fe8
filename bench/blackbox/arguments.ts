// What the black box is told, read and checked.
import { parseArgs } from 'node:util';
import { whyNoFile } from './output-place.ts';

export const usage = `npm run bench:blackbox -- --virtual-kubeconfig F --host-kubeconfig F --vcluster-name N --host-namespace N
  --objects N            how many objects are made (1,000)
  --rate R[,R…]          changes a second, as a Poisson process; several rates one after the other (100)
  --seconds S            for how long at each rate (30)
  --burst                changes every object once, as fast as the virtual API server takes it, instead of a rate
  --kind K               endpoints or endpointslices (endpoints)
  --addresses N          addresses of an object, from 3 to 1000 (3)
  --pid P                a process whose CPU and memory count, with its children
  --wait S               how long the first copy may take (30)
  --out FILE             also writes the result there
  --no-keep              leaves no result in bench/results, from which npm run bench:page makes its page
  -o json|text           what is printed (text); npm run --silent keeps npm's own lines out of it

Loads a syncer that runs between two API servers, whoever made it, and measures from outside. It works in virtual namespaces of its own,
hostward-bench-…, and removes them at its end, also after Ctrl-C. On the host it only reads.
`;

/** A mistake in the words, told with exit code 2. */
export class UsageFault extends Error {}

export type Kind = 'endpoints' | 'endpointslices';

export interface Wanted {
  virtualKubeconfig: string;
  hostKubeconfig: string;
  vclusterName: string;
  hostNamespace: string;
  objects: number;
  rates: number[];
  seconds: number;
  isBurst: boolean;
  kind: Kind;
  addresses: number;
  pid: number | undefined;
  waitMs: number;
  out: string | undefined;
  /** Among the results, from which the page is made. */
  isKept: boolean;
  output: 'json' | 'text';
}

export function readArguments(words: readonly string[]): Wanted {
  const { values } = parse(words);
  const needed = (name: 'virtual-kubeconfig' | 'host-kubeconfig' | 'vcluster-name' | 'host-namespace'): string => {
    const value = values[name];
    if (value === undefined || value === '') throw new UsageFault(`--${name} is missing`);
    return value;
  };
  const oneOf = <T extends string>(name: 'kind' | 'output', wanted: readonly T[]): T => {
    const value = values[name] as string;
    if (!wanted.includes(value as T)) throw new UsageFault(`--${name} is ${wanted.join(' or ')}, found "${value}"`);
    return value as T;
  };
  const rates = values.rate.split(',').map((rate) => number('rate', rate, { least: 0.1, most: 100_000 }));
  const seconds = number('seconds', values.seconds, { least: 0.5, most: 86_400 });
  const idle = values.burst ? undefined : rates.find((rate) => Math.round(rate * seconds) < 1);
  if (idle !== undefined) throw new UsageFault(`--rate ${idle} makes no change within --seconds ${seconds}`);
  const why = values.out === undefined ? undefined : whyNoFile(values.out);
  if (why !== undefined) throw new UsageFault(`--out "${values.out}"${why}`);
  return {
    virtualKubeconfig: needed('virtual-kubeconfig'),
    hostKubeconfig: needed('host-kubeconfig'),
    vclusterName: needed('vcluster-name'),
    hostNamespace: needed('host-namespace'),
    objects: number('objects', values.objects, { least: 1, most: 1_000_000, isWhole: true }),
    rates,
    seconds,
    isBurst: values.burst,
    kind: oneOf('kind', ['endpoints', 'endpointslices'] as const),
    addresses: number('addresses', values.addresses, { least: 3, most: 1000, isWhole: true }),
    pid: values.pid === undefined ? undefined : number('pid', values.pid, { least: 1, most: 2 ** 22, isWhole: true }),
    waitMs: number('wait', values.wait, { least: 0.5, most: 3600 }) * 1000,
    out: values.out,
    isKept: values.keep,
    output: oneOf('output', ['json', 'text'] as const),
  };
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      allowNegative: true,
      options: {
        'virtual-kubeconfig': { type: 'string' },
        'host-kubeconfig': { type: 'string' },
        'vcluster-name': { type: 'string' },
        'host-namespace': { type: 'string' },
        objects: { type: 'string', default: '1000' },
        rate: { type: 'string', default: '100' },
        seconds: { type: 'string', default: '30' },
        burst: { type: 'boolean', default: false },
        kind: { type: 'string', default: 'endpoints' },
        addresses: { type: 'string', default: '3' },
        pid: { type: 'string' },
        wait: { type: 'string', default: '30' },
        out: { type: 'string' },
        keep: { type: 'boolean', default: true },
        output: { type: 'string', short: 'o', default: 'text' },
      },
    });
  } catch (error) {
    throw new UsageFault((error as Error).message);
  }
}

function number(
  name: string,
  text: string,
  { least, most, isWhole = false }: { least: number; most: number; isWhole?: boolean },
): number {
  const value = Number(text);
  const isRight = text.trim() !== '' && value >= least && value <= most && (!isWhole || Number.isInteger(value));
  if (isRight) return value;
  throw new UsageFault(`--${name} is a ${isWhole ? 'whole ' : ''}number from ${least} to ${most}, found "${text}"`);
}
