import { shipServerSuite } from './ship-server-suite.ts';

shipServerSuite('minio');
