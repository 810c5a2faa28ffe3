export default function DocumentsScreen() { return <p/>; }
