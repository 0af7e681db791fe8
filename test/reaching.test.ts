import { describe, expect, it } from 'vitest';
import { testSources, testsReaching } from './reaching.ts';

describe('testsReaching()', () => {
  it('finds the tests that import a file, themselves or through others, and ends in a circle', () => {
    const files = new Map([
      ['test/kube/assets.ts', "import './helm.ts';"],
      ['test/kube/helm.ts', "import { assets } from './assets.ts';"],
      ['test/kube/chart.test.ts', "import { helm } from './helm.ts';"],
      ['test/cli/demo.test.ts', "const { assets } = await import('../kube/assets.ts');"],
      ['test/cli/other.test.ts', "import './assets.ts';"],
    ]);
    expect(testsReaching('test/kube/assets.ts', files)).toEqual(['test/cli/demo.test.ts', 'test/kube/chart.test.ts']);
  });

  it('finds the suites that look for real servers in a helper', () => {
    const found = testsReaching('test/kube/start/assets.ts', testSources());
    // They were in no list of .ci/run for a while.
    for (const suite of ['admission', 'chart', 'records', 'vcluster', 'manifests'])
      expect(found).toContain(`test/kube/install/${suite}.test.ts`);
  });
});
