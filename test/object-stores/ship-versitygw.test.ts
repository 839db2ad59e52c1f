import { shipServerSuite } from './ship-server-suite.ts';

shipServerSuite('versitygw');
