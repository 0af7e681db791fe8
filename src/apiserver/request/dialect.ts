// The two dialects of this kit. `kubernetes` copies the real API server, including its lenient answers and its bare 500s, since
// the embedded clusters replace it in tests. `strict` answers 4xx with every cause where the client is wrong.

export type Dialect = 'kubernetes' | 'strict';
