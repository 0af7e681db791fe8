// Order of the test files. Without the times of an earlier run vitest begins with the largest files, and a small file that takes minutes is
// left for the end, where one worker waits for the other.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What asks for collections of the whole heap, which is small at the start: seven times as much work at the end of a run. */
const collecting = [
  'test/object/text/gathered-bytes.test.ts',
  'test/object/text/small-chunks.test.ts',
  'test/management/keys/key-table.test.ts',
];

/** What takes ten seconds or more, longest first. */
const longest = [
  'test/kube/sync/sync.test.ts',
  'test/kube/store/replica-faults.test.ts',
  'test/kube/install/chart.test.ts',
  'test/bench/blackbox/blackbox.test.ts',
  'test/sync/live/live.test.ts',
  'test/sync/live/live-faults.test.ts',
  'test/rig/rig.test.ts',
  'test/expression/hostile.test.ts',
  'test/cli/demo/demo.test.ts',
];

const first = [...collecting, ...longest];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const found = first.findIndex((path) => moduleId.endsWith(path));
      return found < 0 ? first.length : found;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}
