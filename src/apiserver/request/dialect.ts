// The two dialects of this kit. `kubernetes` answers as the real API server does for its own kinds, its lenient answers and its
// bare 500s included: the embedded clusters stand in for it. `strict` answers 4xx with every cause where the client is wrong.

export type Dialect = 'kubernetes' | 'strict';
